package podnet

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSandboxWithAnAddressMayHavePorts(t *testing.T) {
	p := testPlaces(t)
	if got, err := p.addressed(); err != nil || len(got) > 0 {
		t.Errorf("got %v (%v) before the first pod, want none", got, err)
	}
	dir := filepath.Join(p.Addresses, p.bridge())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"10.90.1.2": "one\r\neth0", "fd01:2::2": "one\r\neth0", "10.90.1.3": "two",
		"10.90.1.4": "", // taken, and not yet given to anyone
		"lock":      "", "last_reserved_ip.0": "10.90.1.4",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := p.addressed()
	for _, files := range got {
		for i := range files {
			files[i] = filepath.Base(files[i])
		}
	}
	want := map[string][]string{"one": {"10.90.1.2", "fd01:2::2"}, "two": {"10.90.1.3"}}
	if err != nil || !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
}

func TestOnlyPodsThatMayHavePortsWaitForThePlugin(t *testing.T) {
	n, plugin := newFake(t)
	p, broken := n.places, plugin+".broken"
	addresses, results := filepath.Join(p.Addresses, p.bridge()), filepath.Join(n.cache, "results")
	record := func(id, ports string) string {
		return `{"containerId":"` + id + `","networkName":"` + p.bridge() + `","capabilityArgs":{` + ports + `}}`
	}
	lay := map[string]string{
		addresses + "/10.90.1.2": "without", results + "/without": record("without", ""),
		addresses + "/10.90.1.3": "with", results + "/with": record("with", `"portMappings":[{"hostPort":80}]`),
		addresses + "/10.90.1.4": "unrecorded",
	}
	for path, text := range lay {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name  string
		works bool
		left  []string // of addresses and records
	}{
		{"a plugin that fails", false, []string{"10.90.1.3", "10.90.1.4", "with"}},
		{"again", false, []string{"10.90.1.3", "10.90.1.4", "with"}},
		{"once it works", true, nil},
	} {
		if x.works {
			if err := os.Remove(broken); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.closePorts(t.Context()); (err == nil) != x.works || err != nil && strings.Contains(err.Error(), "sandbox without") {
			t.Errorf("%s: got %v", x.name, err)
		}
		var left []string
		for path := range lay {
			if _, err := os.Stat(path); err == nil {
				left = append(left, filepath.Base(path))
			}
		}
		if slices.Sort(left); !slices.Equal(left, x.left) {
			t.Errorf("%s: left are %q, want %q", x.name, left, x.left)
		}
	}
	if _, err := os.Stat(n.cache); err == nil {
		t.Error("an empty cache stays")
	}
}

func TestRecordsOfOtherNetworksAreLeft(t *testing.T) {
	p := testPlaces(t)
	for _, c := range []struct {
		name, file, text string
		ours             bool
	}{
		{"of our network", "x", `{"containerId":"a","networkName":"` + p.bridge() + `"}`, true},
		{"of a loopback in a namespace of ours", "x", `{"networkName":"cni-loopback","result":{"interfaces":[{"name":"lo"},{"sandbox":"` + p.Namespaces[1] + `/netns/1"}]}}`, true},
		{"of somebody's loopback", "x", `{"networkName":"cni-loopback","result":{"interfaces":[{"sandbox":"/run/netns/1"}]}}`, false},
		{"cut off, with our name", p.bridge() + "-a-eth0", `{"containerId":`, true},
		{"cut off, with another's", "podman-a-eth0", `{"containerId":`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, ours := p.readRecord(path); ours != c.ours {
				t.Errorf("got %t, want %t", ours, c.ours)
			}
		})
	}
}
