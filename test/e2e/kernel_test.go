package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nodal/test/agent"
	"nodal/test/claim"
)

// madeUpKernel shows the agent a file in place of a kernel setting, in a mount namespace of its
// own. The machine's setting stays as it is.
func madeUpKernel(setting, value string) func(*agent.Config) {
	return func(c *agent.Config) {
		file, wrapper := filepath.Join(filepath.Dir(c.Dir), "setting"), filepath.Join(filepath.Dir(c.Dir), "kubelet")
		script := fmt.Sprintf("#!/bin/sh\nexec unshare --mount sh -c 'mount --bind %s %s && exec %s \"$@\"' kubelet \"$@\"\n", file, setting, c.Binary)
		os.WriteFile(file, []byte(value+"\n"), 0o644) // if this fails, the agent does not start
		// A process that another test starts now must not inherit the script open for writing.
		syscall.ForkLock.RLock()
		os.WriteFile(wrapper, []byte(script), 0o755)
		syscall.ForkLock.RUnlock()
		c.Binary = wrapper
	}
}

func TestTheKernelsSettingsAreCheckedLeftAndSet(t *testing.T) {
	claim.Shows(t, "Ways in", "settings of the kernel are left alone, or set on request; with protectKernelDefaults the agent refuses to start if they differ")
	const setting = "/proc/sys/kernel/panic"
	machines, err := os.ReadFile(setting)
	if err != nil {
		t.Fatal(err)
	}
	n := prepare(t, madeUpKernel(setting, "77"))
	is := func() string {
		text, err := os.ReadFile(filepath.Join(n.rt.Dir, "setting"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	flags := n.Flags
	n.Flags = append(flags, "--protect-kernel-defaults")
	if err := n.Start(); err == nil || !strings.Contains(err.Error(), "kernel.panic is 77, want 10") {
		t.Errorf("protected: got %v, want a refusal that names the setting", err)
	}
	if code, err := n.Wait(t.Context()); code == 0 || err != nil {
		t.Errorf("protected: ended with code %d and %v, want a failure", code, err)
	}
	n.Flags = flags
	n.up()
	if got := is(); got != "77" {
		t.Errorf("left alone the setting is %s, want 77", got)
	}
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	n.Flags = append(flags, "--kernel-tunables", "set")
	n.up()
	if got := is(); got != "10" {
		t.Errorf("set it is %s, want 10", got)
	}
	if after, err := os.ReadFile(setting); err != nil || string(after) != string(machines) {
		t.Errorf("the machine's own setting is %q, %v, want %q as before", after, err, machines)
	}
}
