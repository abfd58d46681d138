package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"nodal/host/cgroup"
	"nodal/test/agent"
	"nodal/test/claim"
)

// classes holds a pod of each QoS class; their amounts differ, to tell them apart.
var classes = map[string]string{
	"sure":  "resources: {requests: {cpu: 250m, memory: 48Mi}, limits: {cpu: 250m, memory: 48Mi}}",
	"burst": "resources: {requests: {cpu: 500m, memory: 64Mi}, limits: {cpu: 1, memory: 128Mi}}",
	"best":  "resources: {}",
}

// cgroupFile reads a cgroup's file: of a process's own cgroup, or of one so many levels above. The
// file has one name in each version of cgroups.
func (n *node) cgroupFile(pid, above int, first, second string) string {
	n.t.Helper()
	controller, file, _ := strings.Cut(first, " ")
	if cgroupVersion(n.t) == 2 {
		controller, file = "", second
	}
	dir := cgroupDir(n.t, pid, controller)
	for range above {
		dir = filepath.Dir(dir)
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		n.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func cgroupVersion(t *testing.T) int {
	t.Helper()
	mounts, err := cgroup.FindMounts()
	if err != nil {
		t.Fatal(err)
	}
	return mounts.Version
}

// numberIn reads a kernel file that holds one number.
func numberIn(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return n
}

// cgroupDir returns the directory of a process's cgroup: in a controller's hierarchy, or for "" in
// that of version 2.
func cgroupDir(t *testing.T, pid int, controller string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) == 3 && part[1] == controller {
			return filepath.Join("/sys/fs/cgroup", controller, part[2])
		}
	}
	t.Fatalf("process %d is in no cgroup of controller %q: %s", pid, controller, text)
	return ""
}

func TestPodsOfEachClassAreHeldToTheirLimits(t *testing.T) {
	claim.Shows(t, "Resources",
		"a pod of each class of service has a cgroup of its own with the sum of its containers' requests and limits",
		"its containers' cgroups are inside it, and the class of burstable pods has the sum of their requests as its weight",
		"processes get the oom_score_adj of their class and request",
		"a pod's cgroup is removed with it")
	n := start(t, func(c *agent.Config) { c.Settings["podPidsLimit"] = 200 })
	for name, resources := range classes {
		n.apply(adding(shell(name, "exec sleep 1000"), resources))
	}
	version := cgroupVersion(t)
	// A machine without CAP_SYS_RESOURCE cannot lower the score below its own.
	own := numberIn(t, "/proc/self/oom_score_adj")
	// The indexes of the kernel's numbers for each pod, and for its container.
	const shares, quota, memory, pids = 0, 1, 2, 3
	files := [][2]string{
		shares: {"cpu cpu.shares", "cpu.weight"}, quota: {"cpu cpu.cfs_quota_us", "cpu.max"},
		memory: {"memory memory.limit_in_bytes", "memory.max"}, pids: {"pids pids.max", "pids.max"},
	}
	boundless := strconv.Itoa(1<<63 - 4096)
	for _, c := range []struct {
		pod           string
		first, second [4]string // for the pod, in both versions of cgroups
		least, most   int       // bounds of oom_score_adj
	}{
		{"sure", [4]string{"256", "25000", "50331648", "200"}, [4]string{"35", "25000 100000", "50331648", "200"}, -997, max(0, own)},
		{"burst", [4]string{"512", "100000", "134217728", "200"}, [4]string{"59", "100000 100000", "134217728", "200"}, 900, 999},
		{"best", [4]string{"2", "-1", boundless, "200"}, [4]string{"1", "max 100000", "max", "200"}, 1000, 1000},
	} {
		n.waitRunning(c.pod)
		pid := n.pidOf(c.pod, "main")
		want := c.first
		if version == 2 {
			want = c.second
		}
		for i, name := range files {
			if got := n.cgroupFile(pid, 1, name[0], name[1]); got != want[i] {
				t.Errorf("%s of pod %s is %s, want %s", name, c.pod, got, want[i])
			}
			if i == pids {
				continue
			}
			if got := n.cgroupFile(pid, 0, name[0], name[1]); got != want[i] {
				t.Errorf("%s of the container of %s is %s, want %s", name, c.pod, got, want[i])
			}
		}
		if got := numberIn(t, fmt.Sprintf("/proc/%d/oom_score_adj", pid)); got < c.least || got > c.most {
			t.Errorf("oom_score_adj of %s is %d, want %d to %d", c.pod, got, c.least, c.most)
		}
	}
	burst, best := n.pidOf("burst", "main"), n.pidOf("best", "main")
	for _, c := range []struct {
		name       string
		pid, above int
		want       [2]string
	}{
		{"burstable pods together", burst, 2, [2]string{"512", "59"}},
		{"pods of best effort together", best, 2, [2]string{"2", "1"}},
	} {
		if got := n.cgroupFile(c.pid, c.above, "cpu cpu.shares", "cpu.weight"); got != c.want[version-1] {
			t.Errorf("%s weigh %s, want %s", c.name, got, c.want[version-1])
		}
	}
	if got := n.cgroupFile(burst, 3, "memory memory.limit_in_bytes", "memory.max"); got == boundless || got == "max" {
		t.Errorf("all pods together may use the memory %s", got)
	}
	n.wantNoCgroupAfter("burst", burst)
}

// wantNoCgroupAfter deletes a pod and checks that its cgroup goes too.
func (n *node) wantNoCgroupAfter(pod string, pid int) {
	n.t.Helper()
	controller := "memory"
	if cgroupVersion(n.t) == 2 {
		controller = ""
	}
	dir := filepath.Dir(cgroupDir(n.t, pid, controller))
	n.deletePod(pod, "")
	n.waitGone(pod)
	if _, err := os.Stat(dir); err == nil {
		n.t.Errorf("cgroup %s is still there", dir)
	}
	if _, err := os.Stat(filepath.Dir(dir)); err != nil {
		n.t.Errorf("the cgroup of the others is gone too: %v", err)
	}
}

func TestAPodIsHeldToLimitsAsAWhole(t *testing.T) {
	claim.Shows(t, "Resources",
		"limits of the pod as a whole hold for its containers, with the overhead for the pod",
		"a pod whose cgroup was removed is held to its limits again before any container runs in it",
	)
	n := start(t)
	n.apply(strings.Replace(shell("whole", "exec sleep 1000").yaml(), "spec:\n",
		"spec:\n  overhead: {cpu: 50m, memory: 16Mi}\n  resources: {requests: {cpu: 100m}, limits: {cpu: 200m, memory: 32Mi}}\n", 1))
	n.waitRunning("whole")
	pid := n.pidOf("whole", "main")
	n.wantWhole(pid)
	n.removeCgroup(pid)
	n.wait("whole", "whole running again", func(p *corev1.Pod) bool {
		s := containerStatus(p, "main")
		return s.RestartCount >= 1 && s.State.Running != nil
	})
	n.wantWhole(n.pidOf("whole", "main"))
}

// wantWhole checks that the kernel holds a process to the limits of its whole pod.
func (n *node) wantWhole(pid int) {
	n.t.Helper()
	for _, c := range []struct {
		above int
		files [2]string
		want  [2]string
	}{
		{1, [2]string{"cpu cpu.shares", "cpu.weight"}, [2]string{"153", "24"}},
		{1, [2]string{"cpu cpu.cfs_quota_us", "cpu.max"}, [2]string{"25000", "25000 100000"}},
		{1, [2]string{"memory memory.limit_in_bytes", "memory.max"}, [2]string{"50331648", "50331648"}},
		{0, [2]string{"cpu cpu.cfs_quota_us", "cpu.max"}, [2]string{"20000", "20000 100000"}},
		{0, [2]string{"memory memory.limit_in_bytes", "memory.max"}, [2]string{"33554432", "33554432"}},
	} {
		if got := n.cgroupFile(pid, c.above, c.files[0], c.files[1]); got != c.want[cgroupVersion(n.t)-1] {
			n.t.Errorf("%s, %d above the container, is %s, want %q", c.files, c.above, got, c.want)
		}
	}
}

// removeCgroup kills the processes of a pod, and removes its cgroup before the agent notices.
func (n *node) removeCgroup(pid int) {
	n.t.Helper()
	controllers := []string{"cpu", "memory", "pids"}
	if cgroupVersion(n.t) == 2 {
		controllers = []string{""}
	}
	if err := unix.Kill(n.Pid(), unix.SIGSTOP); err != nil {
		n.t.Fatal(err)
	}
	defer unix.Kill(n.Pid(), unix.SIGCONT)
	var dirs []string
	for _, controller := range controllers {
		dirs = append(dirs, filepath.Dir(cgroupDir(n.t, pid, controller)))
	}
	for _, dir := range dirs {
		n.eventually("nothing in "+dir, func() bool { return removed(n.t, dir) })
	}
}

// removed kills the processes of a cgroup and reports whether it could be removed.
func removed(t *testing.T, dir string) bool {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			removed(t, filepath.Join(dir, e.Name()))
		}
	}
	processes, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	for line := range strings.FieldsSeq(string(processes)) {
		if pid, err := strconv.Atoi(line); err == nil && pid > 1 {
			unix.Kill(pid, unix.SIGKILL)
		}
	}
	return os.Remove(dir) == nil
}

func TestPodsDoNotGetReservedResources(t *testing.T) {
	claim.Shows(t, "Resources", "pods do not get reserved resources, and all pods together are held to the rest")
	claim.Shows(t, "Resources", "the cgroups of other programs are held to their reservations; if one is missing, the node does not start, and names it")
	claim.Shows(t, "Admission", "a node that reserves more than the machine has does not start, and names the setting")
	n := prepare(t, func(c *agent.Config) {
		c.Settings["systemReserved"] = map[string]string{"memory": "1000Gi"}
	})
	if err := n.Launch(); err != nil {
		t.Fatal(err)
	}
	code, err := n.Wait(t.Context())
	if err != nil || code == 0 || !strings.Contains(n.Log(), "systemReserved[memory]") {
		t.Errorf("the agent ended with %d (%v) and says %s; want a failure that names systemReserved[memory]", code, err, n.Log())
	}

	n.Settings["systemReserved"] = map[string]string{"memory": "512Mi", "cpu": "500m"}
	n.Settings["kubeReserved"] = map[string]string{"memory": "256Mi"}
	n.Settings["evictionHard"] = map[string]string{"memory.available": "10%"}
	n.up()
	n.apply(adding(shell("all", "exec sleep 1000"), fmt.Sprintf("resources: {requests: {cpu: %d}}", runtime.NumCPU())))
	refused := n.wait("all", "all refused", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if want := fmt.Sprintf("capacity: %d", runtime.NumCPU()*1000-500); refused.Status.Reason != "OutOfcpu" || !strings.Contains(refused.Status.Message, want) {
		t.Errorf("it is refused with %s, %q; want %s", refused.Status.Reason, refused.Status.Message, want)
	}
	n.apply(adding(shell("most", "exec sleep 1000"), "resources: {requests: {cpu: 500m}}"))
	n.waitRunning("most")
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		t.Fatal(err)
	}
	want := int64(info.Totalram)*int64(info.Unit) - 768<<20
	got, err := strconv.ParseInt(n.cgroupFile(n.pidOf("most", "main"), 3, "memory memory.limit_in_bytes", "memory.max"), 10, 64)
	if err != nil || got != want/4096*4096 {
		t.Errorf("all pods together may use %d bytes (%v), want %d", got, err, want)
	}
	n.holdsOthers(n.pidOf("most", "main"))
}

// holdsOthers checks that the node limits a cgroup of the test's own, beside that of all pods.
func (n *node) holdsOthers(pid int) {
	n.t.Helper()
	others, path := map[string]string{}, ""
	for _, controller := range []string{"cpu", "memory", "pids"} {
		top := filepath.Join("/sys/fs/cgroup", controller)
		if cgroupVersion(n.t) == 2 {
			controller, top = "", "/sys/fs/cgroup"
		}
		// Up from its container, its pod, its class, all pods.
		dir := filepath.Join(cgroupDir(n.t, pid, controller), "../../../../others")
		path = strings.TrimPrefix(dir, top)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			n.t.Fatal(err)
		}
		n.t.Cleanup(func() { os.Remove(dir) }) // with version 2 the directory is gone after the first time
		others[controller] = dir
	}
	if err := n.Stop(); err != nil {
		n.t.Fatal(err)
	}
	n.Settings["enforceNodeAllocatable"] = []string{"pods", "system-reserved", "kube-reserved-compressible"}
	n.Settings["systemReservedCgroup"], n.Settings["kubeReservedCgroup"] = path, path+"-not-there"
	n.Settings["kubeReserved"] = map[string]string{"cpu": "100m"}
	if err := n.Launch(); err != nil {
		n.t.Fatal(err)
	}
	if code, err := n.Wait(n.t.Context()); err != nil || code == 0 || !strings.Contains(n.Log(), path+"-not-there") {
		n.t.Errorf("without the cgroup the agent ended with %d (%v); want a failure that names it", code, err)
	}
	n.Settings["kubeReservedCgroup"] = path // the CPUs of this cgroup depend on the other setting
	n.up()
	for _, want := range []struct{ controller, first, second, value string }{
		{"cpu", "cpu.shares", "cpu.weight", map[int]string{1: "512", 2: "59"}[cgroupVersion(n.t)]},
		{"memory", "memory.limit_in_bytes", "memory.max", "536870912"},
	} {
		file := filepath.Join(others[want.controller], want.first)
		if cgroupVersion(n.t) == 2 {
			file = filepath.Join(others[""], want.second)
		}
		if got, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(got)) != want.value {
			n.t.Errorf("%s is %q (%v), want %s", file, got, err, want.value)
		}
	}
	n.waitRunning("most")
}

func TestLimitsOfCPUMemoryAndProcessesHold(t *testing.T) {
	claim.Shows(t, "Resources",
		"a container that takes more memory than its limit ends with OOMKilled, 137",
		"a fork bomb ends at its pod's limit of processes and disturbs no neighbour",
		"a container is throttled at its CPU limit, and so is its pod")
	n := start(t, func(c *agent.Config) { c.Settings["podPidsLimit"] = 60 })
	n.apply(shell("neighbour", "exec sleep 1000").yaml())
	n.waitRunning("neighbour")

	t.Run("memory", func(t *testing.T) {
		p := shell("hungry", "exec tail /dev/zero")
		n.apply(adding(p, "resources: {limits: {memory: 24Mi}}"))
		// The runtime may learn the reason after the end; then only the next run shows it.
		got := n.wait("hungry", "hungry killed", func(p *corev1.Pod) bool {
			ended := ends(p)
			return ended != nil && ended.Reason == "OOMKilled"
		})
		if ended := ends(got); ended.ExitCode != 137 {
			t.Errorf("it ended with %s, %d; want OOMKilled, 137", ended.Reason, ended.ExitCode)
		}
	})
	t.Run("processes", func(t *testing.T) {
		n.apply(shell("bomb", "b() { b | b & }; b; exec sleep 1000").yaml())
		n.waitRunning("bomb")
		pid := n.pidOf("bomb", "main")
		n.eventually("the bomb at its limit", func() bool {
			// Some kernels count the event at the cgroup with the limit, others at the cgroup that
			// met it.
			return n.cgroupFile(pid, 1, "pids pids.events", "pids.events") != "max 0" ||
				n.cgroupFile(pid, 0, "pids pids.events", "pids.events") != "max 0"
		})
		if got := n.cgroupFile(pid, 1, "pids pids.max", "pids.max"); got != "60" {
			t.Errorf("the pod may have %s processes, want 60", got)
		}
		if got := n.inside("neighbour", "main", "sleep 0 & wait; echo well"); got != "well\n" {
			t.Errorf("a neighbour says %q", got)
		}
		n.wantNoCgroupAfter("bomb", pid)
	})
	t.Run("CPU", func(t *testing.T) {
		n.apply(adding(shell("busy", "while :; do :; done"), "resources: {limits: {cpu: 50m}}"))
		n.waitRunning("busy")
		pid := n.pidOf("busy", "main")
		for above, who := range []string{"the container", "its pod"} {
			n.eventually(who+" throttled", func() bool {
				for line := range strings.Lines(n.cgroupFile(pid, above, "cpu cpu.stat", "cpu.stat")) {
					if count, ok := strings.CutPrefix(line, "nr_throttled "); ok && strings.TrimSpace(count) != "0" {
						return true
					}
				}
				return false
			})
		}
	})
}
