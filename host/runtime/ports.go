package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// cniCache is where the CNI library keeps what it set up, for all runtimes of
// the machine; its path is fixed.
const cniCache = "/var/lib/cni"

// record is what the library keeps of a pod's connection, once all plugins have run.
type record struct {
	ContainerID string          `json:"containerId"`
	Network     string          `json:"networkName"`
	Interface   string          `json:"ifName"`
	Result      json.RawMessage `json:"result"`
	Arguments   struct {
		PortMappings json.RawMessage `json:"portMappings"`
	} `json:"capabilityArgs"`
}

// namespace is the network namespace that the pod's end is in; empty if there is none.
func (r record) namespace() string {
	var result struct {
		Interfaces []struct {
			Sandbox string `json:"sandbox"`
		} `json:"interfaces"`
	}
	if json.Unmarshal(r.Result, &result) != nil {
		return ""
	}
	for _, i := range result.Interfaces {
		if i.Sandbox != "" {
			return i.Sandbox
		}
	}
	return ""
}

// connection is what is kept of a pod that was connected.
type connection struct {
	files []string // its addresses, and then its records
	ports bool     // it may have some
}

// undoPorts has the portmap plugin take back the host ports of pods that were
// killed; interfaces go without help. Who may have ports is told by the addresses,
// which pods have before them and for longer: a kill may leave ports and no record. A
// record that is whole only tells who needs no look. Both stay for another try while
// a pod may have ports.
func (l layout) undoPorts(ctx context.Context, cache string) error {
	records, err := filepath.Glob(filepath.Join(cache, "results", "*"))
	if err != nil {
		return fmt.Errorf("look for host ports: %w", err)
	}
	addresses, err := l.addressed()
	if err != nil {
		return fmt.Errorf("look for host ports: %w", err)
	}
	connections := map[string]connection{}
	for id, files := range addresses {
		connections[id] = connection{files: files, ports: true}
	}
	for _, file := range records {
		if r, ours := l.readRecord(file); ours {
			c := connections[r.ContainerID]
			portless := r.Network == l.bridge() && len(r.Arguments.PortMappings) == 0
			connections[r.ContainerID] = connection{append(c.files, file), c.ports && !portless}
		}
	}
	var errs []error
	for id, c := range connections {
		if c.ports {
			if err := l.undoPort(ctx, id); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		for _, file := range c.files {
			errs = append(errs, os.Remove(file))
		}
	}
	return errors.Join(append(errs, removeIfEmpty(filepath.Join(cache, "results")), removeIfEmpty(cache))...)
}

// addressed are the sandboxes that have addresses by their ids, each with its files of
// the host-local plugin's.
func (l layout) addressed() (map[string][]string, error) {
	files, err := filepath.Glob(filepath.Join(l.addresses(), l.bridge(), "*"))
	if err != nil {
		return nil, err
	}
	ids := map[string][]string{}
	for _, file := range files {
		if _, err := netip.ParseAddr(filepath.Base(file)); err != nil {
			continue // a note of the plugin's own
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		id, _, _ := strings.Cut(string(text), "\n")
		if id = strings.TrimSpace(id); id != "" {
			ids[id] = append(ids[id], file)
		}
	}
	return ids, nil
}

// readRecord reads what the library keeps, and whether it is of a pod of ours:
// of our network, or of a loopback interface in one of our namespaces. One that a kill
// has cut off is told by its name.
func (l layout) readRecord(file string) (r record, ours bool) {
	raw, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(raw, &r) != nil {
		return record{}, strings.HasPrefix(filepath.Base(file), l.bridge()+"-")
	}
	return r, r.Network == l.bridge() || l.holds(r.namespace())
}

func (l layout) undoPort(ctx context.Context, id string) error {
	// The plugin goes by the id, but does nothing where it is told of no port.
	r := record{ContainerID: id, Interface: "eth0"}
	r.Arguments.PortMappings = json.RawMessage(`[{"hostPort": 1, "containerPort": 1, "protocol": "tcp"}]`)
	if err := l.askPortmap(ctx, "DEL", r); err != nil {
		return fmt.Errorf("take back the host ports of container %s: %w", id, err)
	}
	return nil
}

// askPortmap runs the plugin for what is kept of a pod's connection.
func (l layout) askPortmap(ctx context.Context, command string, r record) error {
	plugin := l.portmap()
	if plugin == "" {
		return errors.New("no portmap plugin is left")
	}
	network := map[string]any{
		"cniVersion": cniVersion, "name": l.bridge(), "type": "portmap", "snat": true,
		"runtimeConfig": map[string]any{"portMappings": r.Arguments.PortMappings},
	}
	if backend := l.earlier().ports; backend != "" {
		network["backend"] = backend
	}
	if len(r.Result) > 0 {
		network["prevResult"] = r.Result
	}
	config, err := json.Marshal(network)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, plugin)
	cmd.Stdin = bytes.NewReader(config)
	cmd.Env = append(environment(os.Environ(), filepath.Dir(plugin), os.TempDir()),
		"CNI_COMMAND="+command, "CNI_CONTAINERID="+r.ContainerID, "CNI_IFNAME="+r.Interface,
		"CNI_NETNS="+r.namespace(), "CNI_PATH="+filepath.Dir(plugin))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
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
func removeSharedChains(ctx context.Context) error {
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
