package runtime

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestHostPortsThatSomebodyClosedAreOpenedAgain(t *testing.T) {
	l, cache := testLayout(t), t.TempDir()
	l.root = t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plugin := filepath.Join(l.bundles(), "some", "cni", "portmap")
	record := func(id string) string { return filepath.Join(cache, "results", l.bridge()+"-"+id+"-eth0") }
	if err := errors.Join(os.MkdirAll(filepath.Dir(plugin), 0o700), os.Symlink(self, plugin), os.Mkdir(filepath.Join(cache, "results"), 0o700)); err != nil {
		t.Fatal(err)
	}
	const ports = `"portMappings":[{"hostPort":80,"containerPort":80,"protocol":"tcp"}]`
	for _, pod := range []struct{ id, namespace, ports string }{
		{"open", "/proc/self/ns/net", ports}, {"closed", "/proc/self/ns/net", ports}, {"portless", "/proc/self/ns/net", ""}, {"gone", cache + "/gone", ports},
	} {
		text := `{"containerId":"` + pod.id + `","networkName":"` + l.bridge() + `","ifName":"eth0","capabilityArgs":{` + pod.ports +
			`},"result":{"interfaces":[{"name":"nd-1"},{"name":"eth0","sandbox":"` + pod.namespace + `"}]}}`
		if err := os.WriteFile(record(pod.id), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opened := func(id string) string { return plugin + "." + id }
	var p openPorts
	for _, step := range []struct {
		name  string
		first func() error
		want  int
		fails bool
		open  []string // pods
	}{
		{"nobody doubts", func() error { return nil }, 0, false, nil},
		{"a reload closed all, and one was made anew since", func() error {
			p.doubt()
			return os.WriteFile(opened("open"), nil, 0o600)
		}, 1, false, []string{"closed", "open"}},
		{"one of them was just being taken down", func() error { return os.Remove(record("closed")) }, 0, false, []string{"open"}},
		{"nobody doubts any more", func() error { return os.Remove(opened("open")) }, 0, false, nil},
		{"the plugin fails", func() error {
			p.doubt()
			return os.WriteFile(plugin+".broken", nil, 0o600)
		}, 0, true, nil},
		{"and works at the second look", func() error { return os.Remove(plugin + ".broken") }, 1, false, []string{"open"}},
	} {
		if err := step.first(); err != nil {
			t.Fatal(err)
		}
		got, err := p.look(t.Context(), l, cache)
		if got != step.want || (err != nil) != step.fails {
			t.Errorf("%s: got %d, %v", step.name, got, err)
		}
		var open []string
		for _, id := range []string{"closed", "gone", "open", "portless"} {
			if _, err := os.Stat(opened(id)); err == nil {
				open = append(open, id)
			}
		}
		if !slices.Equal(open, step.open) {
			t.Errorf("%s: open are the ports of %q, want %q", step.name, open, step.open)
		}
	}
}
