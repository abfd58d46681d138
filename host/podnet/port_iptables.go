package podnet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"

	"github.com/google/nftables"
)

// iptablesFirewall is the plugin's chains of iptables. Each sandbox has a chain with its ports, and the chain of all
// ports leads there, with a comment that names the sandbox and its network.
type iptablesFirewall struct{ places Places }

const (
	sharedPrefix = "CNI-HOSTPORT-"
	sharedPorts  = "CNI-HOSTPORT-DNAT"
	podPrefix    = "CNI-DN-"
)

func iptablesPrograms() map[nftables.TableFamily]string {
	return map[nftables.TableFamily]string{nftables.TableFamilyIPv4: "iptables", nftables.TableFamilyIPv6: "ip6tables"}
}

func (f iptablesFirewall) list(ctx context.Context) ([]portRule, error) {
	var found []portRule
	for family, name := range iptablesPrograms() {
		if path := f.places.program(name); path != "" {
			found = append(found, readPortChains(family, listNAT(ctx, path))...)
		}
	}
	return found, nil
}

// listNAT lists the rules that change addresses. What cannot be listed, for example without IPv6, is empty.
func listNAT(ctx context.Context, iptables string) string {
	rules, err := exec.CommandContext(ctx, iptables, "-w", "10", "-t", "nat", "-S").Output()
	if err != nil {
		return ""
	}
	return string(rules)
}

// remove removes the chains of sandboxes, and what leads there.
func (f iptablesFirewall) remove(ctx context.Context, rules []portRule) error {
	var errs []error
	for family, name := range iptablesPrograms() {
		chains := map[string]bool{}
		for _, r := range rules {
			if r.place.family == family {
				chains[r.place.chain] = true
			}
		}
		if len(chains) > 0 {
			path := f.places.program(name)
			errs = append(errs, restoreNAT(ctx, path, podChains(listNAT(ctx, path), chains)))
		}
	}
	return errors.Join(errs...)
}

// restoreNAT changes rules in one transaction.
func restoreNAT(ctx context.Context, iptables, change string) error {
	if change == "" {
		return nil
	}
	restore := exec.CommandContext(ctx, iptables+"-restore", "-w", "10", "--noflush")
	restore.Stdin = strings.NewReader(change)
	if out, err := restore.CombinedOutput(); err != nil {
		return fmt.Errorf("remove the chains of host ports: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// podChains turns listed rules into the input of iptables-restore that removes some sandboxes' chains.
func podChains(rules string, chains map[string]bool) string {
	var jumps, flushes, removals strings.Builder
	for line := range strings.Lines(rules) {
		f := strings.Fields(line)
		switch {
		case len(f) < 2:
		case f[0] == "-N" && chains[f[1]]:
			fmt.Fprintln(&flushes, "-F", f[1])
			fmt.Fprintln(&removals, "-X", f[1])
		case f[0] == "-A" && chains[f[len(f)-1]]:
			jumps.WriteString("-D" + strings.TrimPrefix(line, "-A"))
		}
	}
	if removals.Len() == 0 {
		return ""
	}
	return "*nat\n" + jumps.String() + flushes.String() + removals.String() + "COMMIT\n"
}

// readPortChains reads the rules of sandboxes from a list, in the order in which the chain of all ports leads to them.
// A chain that nothing leads to, or that leads nowhere, is what a kill of the plugin leaves.
func readPortChains(family nftables.TableFamily, rules string) []portRule {
	chains := map[string][]portRule{}
	var order []string
	owners := map[string]portRule{}
	for line := range strings.Lines(rules) {
		f := strings.Fields(line)
		switch {
		case len(f) < 2:
		case f[0] == "-N" && strings.HasPrefix(f[1], podPrefix):
			chains[f[1]] = nil
		case f[0] == "-A" && f[1] == sharedPorts && f[len(f)-2] == "-j":
			name := f[len(f)-1]
			if _, twice := owners[name]; !twice { // a chain has a jump for each protocol
				order = append(order, name)
			}
			owners[name] = portRule{sandbox: quotedWord(line, "id"), network: quotedWord(line, "name")}
		case f[0] == "-A" && strings.HasPrefix(f[1], podPrefix):
			if r, ok := readDNAT(f); ok {
				chains[f[1]] = append(chains[f[1]], r)
			}
		}
	}
	for name := range chains {
		if _, reached := owners[name]; !reached {
			order = append(order, name)
		}
	}
	var found []portRule
	for _, name := range order {
		all := chains[name]
		if len(all) == 0 && owners[name].sandbox != "" {
			all = []portRule{{}}
		}
		for _, r := range all {
			r.sandbox, r.network, r.place = owners[name].sandbox, owners[name].network, place{family: family, chain: name}
			found = append(found, r)
		}
	}
	return found
}

// quotedWord finds a word of the plugin's comment, such as `id: \"0123\"`.
func quotedWord(line, name string) string {
	_, rest, _ := strings.Cut(line, name+`: \"`)
	word, _, ended := strings.Cut(rest, `\"`)
	if !ended {
		return ""
	}
	return word
}

// readDNAT reads a rule that leads to a pod.
func readDNAT(fields []string) (r portRule, ok bool) {
	for i := 0; i+1 < len(fields); i++ {
		value := fields[i+1]
		switch fields[i] {
		case "-p":
			r.port.protocol = value
		case "-d":
			if host, err := netip.ParsePrefix(value); err == nil {
				r.port.address = host.Addr()
			}
		case "--dport":
			number, _ := strconv.ParseUint(value, 10, 16) // what is no number is no port
			r.port.number = uint16(number)
		case "--to-destination":
			to, err := netip.ParseAddrPort(value)
			r.pod, ok = to.Addr(), err == nil
		}
	}
	return r, ok
}
