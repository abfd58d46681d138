package nodelog

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// tree makes a directory of logs, beside a file that nothing leads to.
func tree(t *testing.T) Tree {
	t.Helper()
	top := t.TempDir()
	dir := filepath.Join(top, "log")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(dir, "app"), 0o755))
	must(os.WriteFile(filepath.Join(top, "secret"), []byte("secret"), 0o600))
	must(os.WriteFile(filepath.Join(dir, "app", "app.log"), []byte("of app\n"), 0o600))
	must(os.WriteFile(filepath.Join(dir, "sys.log"), []byte("of sys\n"), 0o600))
	must(os.Symlink("app/app.log", filepath.Join(dir, "within")))
	must(os.Symlink("../secret", filepath.Join(dir, "out")))
	must(os.Symlink(filepath.Join(top, "secret"), filepath.Join(dir, "absolute")))
	must(os.Symlink("..", filepath.Join(dir, "up")))
	must(unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	socket, err := net.Listen("unix", filepath.Join(dir, "s"))
	must(err)
	t.Cleanup(func() { socket.Close() })
	return Tree(dir)
}

func TestNothingLeadsOutOfTheTree(t *testing.T) {
	files := tree(t)
	for name, want := range map[string]error{
		"out": fs.ErrPermission, "absolute": fs.ErrPermission, "up/secret": fs.ErrPermission, "../secret": fs.ErrPermission,
		"/etc/passwd": fs.ErrPermission, "fifo": fs.ErrPermission, "s": fs.ErrPermission, "none": fs.ErrNotExist,
	} {
		f, err := files.Open(name)
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
		if err == nil {
			f.Close()
		}
	}
	for name, want := range map[string]string{"sys.log": "of sys\n", "app/app.log": "of app\n", "within": "of app\n"} {
		f, err := files.Open(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := io.ReadAll(f); err != nil || string(got) != want {
			t.Errorf("%s: got %q (%v), want %q", name, got, err, want)
		}
		f.Close()
	}
}

func TestDirectoriesOfTheTreeAreListed(t *testing.T) {
	entries, err := fs.ReadDir(tree(t), "app")
	if err != nil || len(entries) != 1 || entries[0].Name() != "app.log" {
		t.Errorf("got %v (%v), want app.log alone", entries, err)
	}
}
