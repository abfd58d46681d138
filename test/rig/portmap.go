package rig

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// removeChains removes the port mappings into the slot's subnet that a pod
// killed behind the runtime's back left in iptables. The three chains that the
// plugin shares among all networks stay, as it leaves them itself.
func (s slot) removeChains() error {
	rules, err := exec.Command("iptables-save", "-t", "nat").Output()
	if err != nil {
		return fmt.Errorf("list port mappings: %w", err)
	}
	script := undoPortMappings(string(rules), strings.TrimSuffix(s.subnet(), "0/24"))
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
		ours := strings.Contains(line, " "+prefix) && len(f) > 1 && f[0] == "-A" && strings.HasPrefix(f[1], "CNI-DN-")
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
