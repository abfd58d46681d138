package rig

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/google/nftables"
)

// addresses returns the prefix of all addresses of the slot's pods.
func (s slot) addresses() string { return strings.TrimSuffix(s.subnet(), "0/24") }

const (
	podChains = "CNI-DN-" // of the plugin; those that it shares among all pods stay
	leadsTo   = " to "
	ownTables = "nodal-"
)

// portMappings lists the chains of iptables that lead from the host's ports to pods,
// with the pods' addresses.
func portMappings() []string {
	rules, err := exec.Command("iptables-save", "-t", "nat").Output()
	if err != nil {
		return nil // a machine without it has none
	}
	return portChains(string(rules))
}

func portChains(rules string) []string {
	targets := map[string]string{}
	for line := range strings.Lines(rules) {
		f := strings.Fields(line)
		switch {
		case len(f) > 0 && strings.HasPrefix(f[0], ":"+podChains):
			targets[f[0][1:]] = ""
		case len(f) > 3 && f[0] == "-A" && strings.HasPrefix(f[1], podChains) && f[len(f)-2] == "--to-destination":
			targets[f[1]] = leadsTo + f[len(f)-1]
		}
	}
	var found []string
	for chain, target := range targets {
		found = append(found, chain+target)
	}
	slices.Sort(found)
	return found
}

// tables lists the tables of nftables that nodes make, or the plugin for them.
func tables() []string {
	conn, err := nftables.New()
	if err != nil {
		return nil
	}
	all, err := conn.ListTables()
	if err != nil {
		return nil // only root may look
	}
	var found []string
	for _, t := range all {
		if strings.HasPrefix(t.Name, ownTables) || t.Name == "cni_hostport" {
			found = append(found, t.Name)
		}
	}
	return found
}

// removeChains removes the port mappings into the slot's subnet that a pod
// killed behind the runtime's back left in iptables. The three chains that the
// plugin shares among all networks stay, as it leaves them itself.
func (s slot) removeChains() error {
	rules, err := exec.Command("iptables-save", "-t", "nat").Output()
	if err != nil {
		return fmt.Errorf("list port mappings: %w", err)
	}
	script := undoPortMappings(string(rules), s.addresses())
	if script == "" {
		return nil
	}
	restore := exec.Command("iptables-restore", "--noflush")
	restore.Stdin = strings.NewReader(script)
	if out, err := restore.CombinedOutput(); err != nil {
		return fmt.Errorf("remove port mappings: %w: %s", err, out)
	}
	return nil
}

// undoPortMappings turns saved rules into a script that deletes the chains with
// an address that starts with prefix. It quotes nothing itself: restore reads
// what save wrote.
func undoPortMappings(rules, prefix string) string {
	var chains []string
	for line := range strings.Lines(rules) {
		f := strings.Fields(line)
		ours := strings.Contains(line, " "+prefix) && len(f) > 1 && f[0] == "-A" && strings.HasPrefix(f[1], podChains)
		if ours && !slices.Contains(chains, f[1]) {
			chains = append(chains, f[1])
		}
	}
	if len(chains) == 0 {
		return ""
	}
	var script strings.Builder
	script.WriteString("*nat\n")
	for line := range strings.Lines(rules) {
		f := strings.Fields(line)
		if len(f) > 1 && f[0] == "-A" && slices.Contains(chains, f[len(f)-1]) {
			script.WriteString("-D" + strings.TrimPrefix(line, "-A"))
		}
	}
	for _, chain := range chains {
		fmt.Fprintf(&script, "-F %[1]s\n-X %[1]s\n", chain)
	}
	script.WriteString("COMMIT\n")
	return script.String()
}
