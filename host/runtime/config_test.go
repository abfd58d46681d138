package runtime

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func testLayout(t *testing.T) layout {
	t.Helper()
	l, err := newLayout(Config{RootDir: "/var/lib/kubelet"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs (-update rewrites it): got\n%s", name, got)
	}
}

func TestConfigIsRenderedInTheFormatThatContainerdReads(t *testing.T) {
	host := programs{containerd: "/usr/bin/containerd", shim: "/usr/bin/containerd-shim-runc-v2", runc: "/usr/sbin/runc", cni: "/usr/lib/cni"}
	two, three, newer := host, host, host
	two.configVersion, three.configVersion, newer.configVersion = 2, 3, 9
	for _, c := range []struct {
		file     string
		settings settings
	}{
		{"containerd-1.6.toml", settings{programs: two, sandboxImage: "pause:1", restrictOOMScore: true, cdiDirs: []string{"/etc/cdi", `/odd"dir`}}},
		{"containerd-2.0.toml", settings{programs: three, sandboxImage: "pause:1"}},
		{"containerd-newer.toml", settings{programs: newer, sandboxImage: "pause:1"}},
		{"containerd-bundle.toml", settings{programs: bundlePrograms("/var/lib/kubelet/runtime/bundles/0123"), sandboxImage: `odd"name`, systemdCgroup: true}},
	} {
		t.Run(c.file, func(t *testing.T) {
			got, err := testLayout(t).renderConfig(c.settings)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, c.file, got)
		})
	}
}

func TestFileIsWrittenOnlyIfItChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	var inodes []os.FileInfo
	for _, content := range []string{"one", "one", "two"} {
		if err := keep(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		inodes = append(inodes, info)
	}
	if !os.SameFile(inodes[0], inodes[1]) {
		t.Error("the same content was written again")
	}
	if os.SameFile(inodes[1], inodes[2]) {
		t.Error("other content was not written to a file of its own")
	}
}

func TestDirectoriesThatDoNotFitAreRefused(t *testing.T) {
	for _, c := range []struct{ name, root, state, want string }{
		{"a relative root", "lib", "", "absolute"},
		{"the root of the file system", "/", "", "absolute"},
		{"a relative state directory", "/lib", "run", "absolute"},
		{"a state directory that leaves no room for sockets", "/lib", "/run/" + strings.Repeat("x", 40), "45 bytes"},
		{"short ones", "/lib", "/run/x", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := newLayout(Config{RootDir: c.root, StateDir: c.state})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want %q", err, c.want)
			}
		})
	}
}

func TestNamesFitTheKernel(t *testing.T) {
	l := testLayout(t)
	if got := len(l.shims()); got > 42 {
		t.Errorf("the directory of the shims' sockets has %d bytes", got)
	}
	other, err := newLayout(Config{RootDir: "/var/lib/other"})
	if err != nil {
		t.Fatal(err)
	}
	if l.id == other.id || l.state == other.state {
		t.Error("two nodes share a name")
	}
}
