package podnet

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestClosedHostPortsAreOpenedAgain(t *testing.T) {
	n, plugin := newFake(t)
	bridge := n.places.bridge()
	record := func(id string) string { return filepath.Join(n.cache, "results", bridge+"-"+id+"-eth0") }
	const ports = `"portMappings":[{"hostPort":80,"containerPort":80,"protocol":"tcp"}]`
	for _, pod := range []struct{ id, ports string }{
		{"open", ports}, {"closed", ports}, {"portless", ""}, {"stopping", ports}, {"gone", ports},
	} {
		text := `{"containerId":"` + pod.id + `","networkName":"` + bridge + `","ifName":"eth0","capabilityArgs":{` + pod.ports + `}}`
		if err := os.WriteFile(record(pod.id), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opened := func(id string) string { return plugin + "." + id }
	ready := map[string]bool{"open": true, "closed": true, "portless": true, "stopping": false}
	var lists int
	down := false     // the runtime
	var during func() // the second list, when ports were opened
	sandboxes := func(context.Context) (map[string]bool, error) {
		if down {
			return nil, errors.New("connection refused")
		}
		if lists++; lists%2 == 0 && during != nil {
			during()
		}
		return maps.Clone(ready), nil
	}
	for _, step := range []struct {
		name  string
		first func() error
		want  int
		fails bool
		open  []string // pods
	}{
		{"no look is due", func() error { return nil }, 0, false, nil},
		{"the runtime is down", func() error {
			n.ports.doubt()
			down = true
			return nil
		}, 0, false, nil},
		{"a reload closed all, and one was made anew since", func() error {
			down = false
			return os.WriteFile(opened("open"), nil, 0o600)
		}, 1, false, []string{"closed", "open"}},
		{"one is stopped while its ports are opened", func() error {
			lists, during = 0, func() { ready["closed"] = false }
			return os.Remove(opened("closed"))
		}, 0, false, []string{"open"}},
		{"no look is due any more", func() error { return os.Remove(opened("open")) }, 0, false, nil},
		{"the plugin fails", func() error {
			n.ports.doubt()
			return os.WriteFile(plugin+".broken", nil, 0o600)
		}, 0, true, nil},
		{"and works at the second look", func() error { return os.Remove(plugin + ".broken") }, 1, false, []string{"open"}},
	} {
		if err := step.first(); err != nil {
			t.Fatal(err)
		}
		got, err := n.reopenPorts(t.Context(), sandboxes)
		if got != step.want || (err != nil) != step.fails {
			t.Errorf("%s: got %d, %v", step.name, got, err)
		}
		var open []string
		for _, id := range []string{"closed", "gone", "open", "portless", "stopping"} {
			if _, err := os.Stat(opened(id)); err == nil {
				open = append(open, id)
			}
		}
		if !slices.Equal(open, step.open) {
			t.Errorf("%s: open are the ports of %q, want %q", step.name, open, step.open)
		}
	}
}
