package runtime

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheLinkToTheSocketLeavesAloneWhatIsAnothers(t *testing.T) {
	l := layout{state: "/run/nodal/abc"}
	for _, c := range []struct {
		name string
		made func(path string) error
		want string // where the link leads afterwards
		ours bool
	}{
		{"there is nothing", func(string) error { return nil }, l.socket(), true},
		{"it is there", func(path string) error { return os.Symlink(l.socket(), path) }, l.socket(), true},
		{"it leads to a node that is gone", func(path string) error { return os.Symlink("/run/nodal/gone/containerd.sock", path) }, l.socket(), true},
		{"it leads to another node", func(path string) error { return os.Symlink("/proc/self/stat", path) }, "/proc/self/stat", false},
		{"it is a file", func(path string) error { return os.WriteFile(path, nil, 0o600) }, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run", "cri.sock")
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := c.made(path); err != nil {
				t.Fatal(err)
			}
			err := l.link(path)
			if to, _ := os.Readlink(path); to != c.want || (err == nil) != c.ours {
				t.Errorf("got a link to %q, %v, want %q", to, err, c.want)
			}
			if err := l.unlink(path); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(path); os.IsNotExist(err) != c.ours {
				t.Errorf("after the node was removed: %v, want the link to be gone: %v", err, c.ours)
			}
		})
	}
}
