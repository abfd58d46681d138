package podnet

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

// record is the CNI library's record of a pod's connection, written once all plugins have run.
type record struct {
	ContainerID string          `json:"containerId"`
	Network     string          `json:"networkName"`
	Interface   string          `json:"ifName"`
	Result      json.RawMessage `json:"result"`
	Pod         [][2]string     `json:"cniArgs"` // names and values that tell the pod
	Arguments   struct {
		PortMappings json.RawMessage `json:"portMappings"`
	} `json:"capabilityArgs"`
}

// namespace is the network namespace of the pod's end; empty if there is none.
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

// argument returns a word of the runtime on the pod, such as its name.
func (r record) argument(name string) string {
	for _, pair := range r.Pod {
		if pair[0] == name {
			return pair[1]
		}
	}
	return ""
}

// readRecord reads a record, and reports whether it is of this node: of its network, or of a loopback interface in
// one of its namespaces. A record that a kill has cut off is known by its file's name.
func (p Places) readRecord(file string) (r record, ours bool) {
	raw, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(raw, &r) != nil {
		return record{}, strings.HasPrefix(filepath.Base(file), p.bridge()+"-")
	}
	return r, r.Network == p.bridge() || p.owns(r.namespace())
}

// addressed lists the files of the host-local plugin by the sandbox that has the address.
func (p Places) addressed() (map[string][]string, error) {
	files, err := filepath.Glob(filepath.Join(p.Addresses, p.bridge(), "*"))
	if err != nil {
		return nil, err
	}
	ids := map[string][]string{}
	for _, file := range files {
		if _, err := netip.ParseAddr(filepath.Base(file)); err != nil {
			continue // the plugin's own notes
		}
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // its pod went meanwhile
		}
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
