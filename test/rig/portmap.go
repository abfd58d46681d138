package rig

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/google/nftables"
)

// addresses returns the prefix that all addresses of the slot's pods share.
func (s slot) addresses() string { return strings.TrimSuffix(s.subnet(), "0/24") }

const (
	podChains = "CNI-DN-" // the plugin's chains of one pod; the chains for all pods stay
	leadsTo   = " to "
	ownTables = "nodal-"
)

// portMappings returns the iptables chains that lead from host ports to pods, with the pods'
// addresses.
func portMappings() []string {
	rules, err := exec.Command("iptables-save", "-t", "nat").Output()
	if err != nil {
		return nil // without iptables there are none
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

// tables returns the nftables tables that nodes or their plugins make.
func tables() []string {
	conn, err := nftables.New()
	if err != nil {
		return nil
	}
	all, err := conn.ListTables()
	if err != nil {
		return nil // only root may list tables
	}
	var found []string
	for _, t := range all {
		if strings.HasPrefix(t.Name, ownTables) || t.Name == "cni_hostport" {
			found = append(found, t.Name)
		}
	}
	return found
}

// removeChains removes iptables chains into the slot's subnet: those of pods that were killed
// behind the runtime's back. The three chains that all networks share stay, as the plugin itself
// leaves them.
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

// undoPortMappings turns saved rules into a script that deletes the chains with an address that
// begins with prefix. It adds no quotes: restore reads what save wrote.
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
