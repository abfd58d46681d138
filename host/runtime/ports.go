package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// cniCache is where the CNI library keeps what it set up, for all runtimes of
// the machine; its path is fixed.
const cniCache = "/var/lib/cni"

// attachment is what the library keeps of a pod's connection.
type attachment struct {
	ContainerID string          `json:"containerId"`
	Interface   string          `json:"ifName"`
	Network     string          `json:"networkName"`
	Config      []byte          `json:"config"` // the conflist
	Result      json.RawMessage `json:"result"`
	Arguments   struct {
		PortMappings json.RawMessage `json:"portMappings"`
	} `json:"capabilityArgs"`
}

// undoPorts has the portmap plugin take back the host ports of pods that were
// killed. It knows how it set them up; addresses and interfaces go without help.
func (l layout) undoPorts(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(cniCache, "results", "*"))
	if err != nil {
		return fmt.Errorf("look for host ports: %w", err)
	}
	var errs []error
	for _, file := range files {
		a, ours := l.readAttachment(file)
		if !ours {
			continue
		}
		if err := l.undoPort(ctx, a); err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, os.Remove(file))
	}
	errs = append(errs, removeIfEmpty(filepath.Join(cniCache, "results")), removeIfEmpty(cniCache))
	return errors.Join(append(errs, l.removeSharedChains(ctx))...)
}

// readAttachment reads what the library keeps, and whether it is of a pod of
// ours: of our network, or of a loopback interface in one of our namespaces.
func (l layout) readAttachment(file string) (a attachment, ours bool) {
	raw, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(raw, &a) != nil {
		// Cut off by a kill: only its name tells, and no port was set up.
		return attachment{}, strings.HasPrefix(filepath.Base(file), l.bridge()+"-")
	}
	return a, a.Network == l.bridge() || l.holds(a.namespace())
}

// namespace is the network namespace that the pod's end is in.
func (a attachment) namespace() string {
	var result struct {
		Interfaces []struct {
			Sandbox string `json:"sandbox"`
		} `json:"interfaces"`
	}
	if json.Unmarshal(a.Result, &result) != nil {
		return ""
	}
	for _, i := range result.Interfaces {
		if i.Sandbox != "" {
			return i.Sandbox
		}
	}
	return ""
}

func (l layout) undoPort(ctx context.Context, a attachment) error {
	if len(a.Arguments.PortMappings) == 0 {
		return nil
	}
	config, err := portmapConfig(a)
	if err != nil {
		return fmt.Errorf("take back the host ports of container %s: %w", a.ContainerID, err)
	}
	if config == nil {
		return nil
	}
	plugin := l.portmap()
	if plugin == "" {
		return fmt.Errorf("take back the host ports of container %s: no portmap plugin is left", a.ContainerID)
	}
	cmd := exec.CommandContext(ctx, plugin)
	cmd.Stdin = bytes.NewReader(config)
	cmd.Env = append(environment(os.Environ(), filepath.Dir(plugin), os.TempDir()),
		"CNI_COMMAND=DEL", "CNI_CONTAINERID="+a.ContainerID, "CNI_IFNAME="+a.Interface, "CNI_NETNS=", "CNI_PATH="+filepath.Dir(plugin))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("take back the host ports of container %s: %w: %s", a.ContainerID, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// portmapConfig is what the library would hand the plugin, if the network has it:
// the loopback one is told of the ports too.
func portmapConfig(a attachment) ([]byte, error) {
	var list struct {
		Version string           `json:"cniVersion"`
		Plugins []map[string]any `json:"plugins"`
	}
	if err := json.Unmarshal(a.Config, &list); err != nil {
		return nil, err
	}
	for _, p := range list.Plugins {
		if p["type"] != "portmap" {
			continue
		}
		p["name"], p["cniVersion"] = a.Network, list.Version
		p["runtimeConfig"] = map[string]any{"portMappings": a.Arguments.PortMappings}
		if len(a.Result) > 0 {
			p["prevResult"] = a.Result
		}
		return json.Marshal(p)
	}
	return nil, nil
}

// portmap finds the plugin in any unpacked bundle, or on the host.
func (l layout) portmap() string {
	unpacked, _ := filepath.Glob(filepath.Join(l.bundles(), "*/cni/portmap")) // the pattern is well-formed
	for _, path := range unpacked {
		if runnable(path) {
			return path
		}
	}
	return findProgram("portmap", newHostDirs().plugins)
}

// removeSharedChains removes the chains that the plugin leaves for the next port
// of anyone, unless somebody has ports in them.
func (l layout) removeSharedChains(ctx context.Context) error {
	var errs []error
	dirs := newHostDirs().programs
	for _, name := range []string{"iptables", "ip6tables"} {
		if path := findProgram(name, dirs); path != "" {
			errs = append(errs, removeIptablesChains(ctx, path))
		}
	}
	return errors.Join(append(errs, removePortmapTables())...)
}

// removeIptablesChains undoes what the plugin set up once and for all. A table
// that cannot be listed (no IPv6, say) has none of it. It goes whole or not at all: who
// opens a port at the same time keeps the chains.
func removeIptablesChains(ctx context.Context, iptables string) (err error) {
	for range 3 {
		rules, failed := exec.CommandContext(ctx, iptables, "-w", "10", "-t", "nat", "-S").Output()
		change := sharedChains(string(rules))
		if failed != nil || change == "" {
			return nil
		}
		restore := exec.CommandContext(ctx, iptables+"-restore", "-w", "10", "--noflush")
		restore.Stdin = strings.NewReader(change)
		out, failed := restore.CombinedOutput()
		if failed == nil {
			return nil
		}
		err = fmt.Errorf("remove the chains of host ports: %w: %s", failed, strings.TrimSpace(string(out)))
	}
	return err
}

// sharedChains turns listed rules into a change that removes the plugin's shared
// chains, or into none if they are in use. The chain of ports is not emptied: a rule that
// somebody adds meanwhile has the change fail.
func sharedChains(rules string) string {
	const prefix, ports = "CNI-HOSTPORT-", "CNI-HOSTPORT-DNAT"
	var jumps, flushes, removals strings.Builder
	for line := range strings.Lines(rules) {
		f := strings.Fields(line)
		switch {
		case len(f) < 2:
		case f[0] == "-A" && f[1] == ports:
			return ""
		case f[0] == "-N" && strings.HasPrefix(f[1], prefix):
			if f[1] != ports {
				fmt.Fprintln(&flushes, "-F", f[1])
			}
			fmt.Fprintln(&removals, "-X", f[1])
		case f[0] == "-A" && !strings.HasPrefix(f[1], "CNI-") && strings.HasPrefix(f[len(f)-1], prefix):
			jumps.WriteString("-D" + strings.TrimPrefix(line, "-A"))
		}
	}
	if removals.Len() == 0 && jumps.Len() == 0 {
		return ""
	}
	return "*nat\n" + jumps.String() + flushes.String() + removals.String() + "COMMIT\n"
}
