package podnet

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"nodal/node"
)

// leave leaves the files of a connection of some age, and returns them.
func (n *Network) leave(t *testing.T, sandbox, address string, age time.Duration) []string {
	t.Helper()
	results := filepath.Join(n.cache, "results", n.places.bridge()+"-"+sandbox+"-eth0")
	files := map[string]string{
		filepath.Join(n.places.Addresses, n.places.bridge(), address): sandbox + "\r\neth0",
		results: `{"containerId":"` + sandbox + `","networkName":"` + n.places.bridge() + `","ifName":"eth0",` +
			`"cniArgs":[["K8S_POD_NAMESPACE","default"],["K8S_POD_NAME","web"]],"capabilityArgs":{"portMappings":[{"hostPort":80}]}}`,
	}
	var paths []string
	for path, text := range files {
		made := time.Now().Add(-age)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, made, made)); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func TestAddressesAreGivenBackOnceTheSandboxIsSurelyGone(t *testing.T) {
	n, plugin := newFake(t)
	alive := n.leave(t, "alive", "10.90.1.2", time.Hour)
	gone := n.leave(t, "gone", "10.90.1.3", time.Hour)
	young := n.leave(t, "young", "10.90.1.4", time.Minute)
	if err := os.WriteFile(plugin+".gone", nil, 0o600); err != nil { // its port is open
		t.Fatal(err)
	}
	var away error
	sandboxes := func(context.Context) (map[string]bool, error) { return map[string]bool{"alive": true}, away }
	there := func(files []string) bool {
		return slices.ContainsFunc(files, func(file string) bool {
			_, err := os.Lstat(file)
			return err == nil
		})
	}
	now := time.Now()
	look := func(after time.Duration) (events []node.Event) {
		t.Helper()
		events, err := n.clearLeft(t.Context(), sandboxes, now.Add(after))
		if err != nil {
			t.Errorf("after %s: %v", after, err)
		}
		return events
	}

	away = errors.New("no answer")
	look(0) // the next look is due all the same
	away = nil
	look(0)
	if look(time.Minute); !there(gone) {
		t.Error("the addresses went after one look, or before the next was due")
	}
	listed, err := n.Garbage(t.Context(), sandboxes)
	if err != nil || len(listed) != 2 || listed[0].Name != "10.90.1.3" || listed[0].Key.Name != "web" || listed[0].Kept != "" ||
		!listed[0].Goes.Equal(now.Add(leftEvery)) || listed[1].Kept == "" || listed[1].Goes.IsZero() {
		t.Errorf("listed %+v, %v, want the first with the next look, and the second until it is old enough", listed, err)
	}
	if events := look(leftEvery); len(events) != 1 || events[0].Reason != Repaired {
		t.Errorf("got %+v, want one event", events)
	}
	if there(gone) || !there(alive) {
		t.Errorf("those of the sandbox that is gone are there: %t, of the one that runs: %t", there(gone), there(alive))
	}
	if _, err := os.Stat(plugin + ".gone"); err == nil {
		t.Error("its host port is still open")
	}
	if look(2 * leftEvery); there(young) {
		t.Error("a connection that was young stays for good")
	}
}

func TestAnAddressStaysWhileItsPortsCannotBeClosed(t *testing.T) {
	n, plugin := newFake(t)
	gone := n.leave(t, "gone", "10.90.1.3", time.Hour)
	if err := os.WriteFile(plugin+".broken", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	none := func(context.Context) (map[string]bool, error) { return nil, nil }
	now := time.Now()
	for i, after := range []time.Duration{0, leftEvery} {
		if _, err := n.clearLeft(t.Context(), none, now.Add(after)); (err != nil) != (i == 1) {
			t.Errorf("look %d: got %v", i, err)
		}
	}
	for _, file := range gone {
		if _, err := os.Lstat(file); err != nil {
			t.Errorf("%v: the next try needs it", err)
		}
	}
}
