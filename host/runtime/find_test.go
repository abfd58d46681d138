package runtime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func touch(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAllThatIsMissingIsNamedAtOnce(t *testing.T) {
	bin, cni := t.TempDir(), t.TempDir()
	touch(t, bin, "containerd")
	touch(t, cni, "bridge", "loopback")
	hosts := hostDirs{programs: []string{bin}, plugins: []string{"/nowhere", cni}}
	_, err := hosts.find()
	if err == nil {
		t.Fatal("found a runtime where there is none")
	}
	for _, want := range []string{"containerd-shim-runc-v2", "runc", "host-local, portmap", "--container-runtime-endpoint"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	touch(t, bin, "containerd-shim-runc-v2", "runc")
	touch(t, cni, "host-local", "portmap")
	got, err := hosts.find()
	want := programs{containerd: bin + "/containerd", shim: bin + "/containerd-shim-runc-v2", runc: bin + "/runc", cni: cni}
	if err != nil || got != want {
		t.Errorf("got %+v (%v), want %+v", got, err, want)
	}
}

func TestVersionOfTheFormatIsRead(t *testing.T) {
	for _, c := range []struct {
		name, config string
		want         int
		fails        bool
	}{
		{"of containerd 1.6", "disabled_plugins = []\nroot = \"/var/lib/containerd\"\nversion = 2\n\n[cgroup]\n", 2, false},
		{"of containerd 2.0", "version = 3\nroot = '/var/lib/containerd'\n", 3, false},
		{"too old a format", "version = 1\n", 1, true},
		{"no version", "root = 'x'\n", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := configVersion([]byte(c.config))
			if got != c.want || (err != nil) != c.fails {
				t.Errorf("got %d (%v), want %d", got, err, c.want)
			}
		})
	}
}

func TestFindingsThatPreventPodsBecomeOneError(t *testing.T) {
	findings := []Finding{
		{Name: "overlay", Required: true, Problem: "no overlay", Remedy: "load it"},
		{Name: "cgroups", Required: true, OK: true},
		{Name: "sysctl", Required: true, Problem: "read-only", Remedy: "mount it"},
		{Name: "host ports", Problem: "no iptables", Remedy: "install it"},
	}
	err := required(findings)
	const want = "this machine cannot run containers: overlay: no overlay (load it); sysctl: read-only (mount it)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := required(findings[3:]); err != nil {
		t.Errorf("got %v for what pods can do without", err)
	}
}
