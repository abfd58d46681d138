package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodal/test/rig"
)

func TestMachinesAreApartAndLeaveNothing(t *testing.T) {
	rig.Require(t)
	before := rig.Snapshot()
	dir, err := os.MkdirTemp("/var/lib", "nodal-machines-") // not below /tmp, where each machine has its own files
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		os.RemoveAll(dir)
		if left := rig.Leaks(before); len(left) > 0 {
			t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
		}
	})
	tool := filepath.Join(dir, "tool")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\necho \"a tool of $(uname -n)\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	begin := func(name string) *Machine {
		m, err := Start(Config{Name: name, Dir: filepath.Join(dir, filepath.Base(dir)+"-"+name), Programs: map[string]string{"tool": tool}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := m.Stop(); err != nil {
				t.Error(err)
			}
		})
		return m
	}
	a, b := begin("a"), begin("b")
	if err := Connect(t.Context(), a, b, "192.0.2"); err != nil {
		t.Fatal(err)
	}
	if err := a.Write("/etc/here/name", "a\n", 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		on            *Machine
		command, want string
	}{
		{a, "tool", "a tool of a\n"},
		{b, "tool", "a tool of b\n"},
		{a, "cat /etc/here/name", "a\n"},
		{b, "test -e /etc/here || echo none", "none\n"},
		{a, "echo a >/var/lib/kubelet/name", ""},
		{b, "ls /var/lib/kubelet", ""},
		{a, "sleep 1000 >/dev/null 2>&1 & echo $! >/run/pid", ""},
		{a, "kill -0 $(cat /run/pid) && echo there", "there\n"},
		{b, "test -e /run/pid || echo none", "none\n"},
		{a, "grep -c -v ':/\\(init\\)*$' /proc/self/cgroup || true", "0\n"}, // the machine's cgroup is the root
		{b, "ip -4 -o addr show dev eth0 | awk '{print $4}'", "192.0.2.2/24\n"},
		{a, "busybox ping -c 1 -W 60 192.0.2.2 >/dev/null && echo answered", "answered\n"},
	} {
		got, err := c.on.Run(t.Context(), "sh", "-c", c.command)
		if err != nil || got != c.want {
			t.Errorf("%s on %s: got %q, %v, want %q", c.command, c.on.Name, got, err, c.want)
		}
	}
	for _, path := range []string{"/etc/here", "/usr/bin/tool"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is on this machine too", path)
		}
	}
}
