package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/test/agent"
	"nodal/test/claim"
)

func TestTheAgentRunsInTheCgroupThatItIsTold(t *testing.T) {
	claim.Shows(t, "Resources",
		"kubeletCgroups moves the agent to a cgroup, runtimeCgroups names that of the runtime, and stats show what both use")
	n := prepare(t)
	own, runtime := n.rt.CgroupParent+"/programs/agent", n.rt.CgroupParent+"/programs"
	n.Settings["kubeletCgroups"] = own
	n.Flags = append(n.Flags, "--runtime-cgroups="+runtime)
	n.up()
	controller := map[int]string{1: "memory"}[cgroupVersion(t)]
	if got := cgroupDir(t, n.Pid(), controller); !strings.HasSuffix(got, own) {
		t.Errorf("the agent runs in %s, want %s", got, own)
	}
	var summary statsapi.Summary
	n.curlTLS("viewer", "/stats/summary").into(n, &summary)
	for _, name := range []string{"kubelet", "runtime"} {
		at := slices.IndexFunc(summary.Node.SystemContainers, func(s statsapi.ContainerStats) bool { return s.Name == name })
		if at < 0 || summary.Node.SystemContainers[at].Memory == nil || *summary.Node.SystemContainers[at].Memory.WorkingSetBytes == 0 {
			t.Errorf("the summary has %s, want what %s uses", n.jsonOf(summary.Node.SystemContainers), name)
		}
	}
}

// TestProcessesWithoutACgroupAreMoved moves all programs of the machine, and so it runs on one that is thrown away.
func TestProcessesWithoutACgroupAreMoved(t *testing.T) {
	if os.Getenv(areaEnv) == "" {
		t.Skip("it moves the machine's programs: test/vm/tests.sh test/e2e has a machine for it")
	}
	var system string
	n := prepare(t, func(c *agent.Config) {
		system = c.CgroupParent + "/system"
		c.Settings["systemCgroups"] = system
	})
	n.up()
	in := func(dir string) []string {
		text, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", dir, "cgroup.procs"))
		if err != nil {
			return nil
		}
		return strings.Fields(string(text))
	}
	n.eventually("this process is moved", func() bool { return strings.HasSuffix(cgroupDir(t, os.Getpid(), ""), system) })
	if left := in("/"); !slices.Contains(left, "1") || !slices.Contains(left, "2") {
		t.Errorf("at the top are %v, want the first process and the kernel's threads", left)
	}
	if slices.Contains(in(system), "1") {
		t.Error("the first process was moved")
	}
	n.Kill()
	for _, pid := range in(system) { // back, before the cgroup goes: the other tests are among them
		err := os.WriteFile("/sys/fs/cgroup/cgroup.procs", []byte(pid), 0)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			t.Error(err)
		}
	}
}
