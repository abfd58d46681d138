package stats

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/cadvisor/lib/model"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/node"
	"nodal/node/store"
)

// podOn is a pod with a sandbox and a container.
func podOn(name, uid, container string) store.View {
	pod := &node.Pod{Accepted: start, Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(uid)}}}
	return store.View{Key: pod.Key(), Slot: &node.Slot{Pod: pod}, Got: &node.Observed{
		Sandboxes:  []node.Sandbox{{ID: "sandbox" + uid, UID: types.UID(uid), State: node.SandboxReady, CreatedAt: start}},
		Containers: []node.Container{{ID: container, UID: types.UID(uid), Name: "main", Image: "app:1", State: node.ContainerRunning, CreatedAt: start, StartedAt: start}},
	}}
}

// lay writes files, by their paths.
func lay(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// kernels holds the same figures of a cgroup as the files of both versions.
var kernels = map[int]map[string]string{
	1: {
		"cpuacct/G/cpuacct.usage": "3000000000\n", "cpuacct/G/cpuacct.stat": "user 200\nsystem 100\n",
		"cpu/G/cpu.stat":   "nr_periods 10\nnr_throttled 4\nthrottled_time 5000000\n",
		"cpu/G/cpu.shares": "512\n", "cpu/G/cpu.cfs_quota_us": "50000\n", "cpu/G/cpu.cfs_period_us": "100000\n",
		"memory/G/memory.usage_in_bytes": "1000\n", "memory/G/memory.limit_in_bytes": "4000\n", "memory/G/memory.memsw.limit_in_bytes": "4600\n", "memory/G/memory.failcnt": "2\n",
		"memory/G/memory.stat":                              "total_cache 300\ntotal_rss 500\ntotal_inactive_file 100\ntotal_active_file 50\npgfault 7\ntotal_pgfault 9\n",
		"cpu/G/cgroup.procs":                                "77\n",
		"memory/G/memory.oom_control":                       "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
		"blkio/G/blkio.throttle.io_service_bytes_recursive": "9999:0 Read 512\n9999:0 Write 1024\nTotal 1536\n",
		"blkio/G/blkio.throttle.io_serviced_recursive":      "9999:0 Read 1\n9999:0 Write 2\n",
		"pids/G/pids.current":                               "3\n", "pids/G/pids.max": "max\n",
	},
	2: {
		"G/cpu.stat": "usage_usec 3000000\nuser_usec 2000000\nsystem_usec 1000000\nnr_periods 10\nnr_throttled 4\nthrottled_usec 5000\n",
		"G/cpu.max":  "50000 100000\n", "G/cpu.weight": "20\n", "G/memory.current": "1000\n", "G/memory.max": "4000\n",
		"G/memory.stat":   "anon 500\nfile 300\ninactive_file 100\nactive_file 50\npgfault 7\n",
		"G/memory.events": "low 0\nhigh 0\nmax 2\noom 1\noom_kill 1\n", "G/cgroup.procs": "77\n",
		"G/memory.pressure": "some avg10=1.50 avg60=0.25 avg300=0.00 total=42\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
		"G/io.stat":         "9999:0 rbytes=512 wbytes=1024 rios=1 wios=2 dbytes=0 dios=0\n",
		"G/pids.current":    "3\n", "G/pids.max": "max\n", "G/memory.swap.max": "600\n",
	},
}

// kernel lays out a pod's cgroup with those of its sandbox and of a container in it.
func kernel(t *testing.T, version int) (dir string, in Cgroups) {
	t.Helper()
	dir = t.TempDir()
	in = Cgroups{Version: version, Dirs: map[string]string{}, Pod: func(p *corev1.Pod) string { return "/kubepods/pod" + string(p.UID) }}
	for _, group := range []string{"kubepods", "kubepods/pod2", "kubepods/pod2/sandbox2", "kubepods/pod2/cri-containerd-c2.scope"} {
		files := map[string]string{}
		for name, text := range kernels[version] {
			files[strings.Replace(name, "G/", group+"/", 1)] = text
		}
		lay(t, dir, files)
	}
	for _, controller := range []string{"cpu", "cpuacct", "memory", "blkio", "io", "pids"} {
		in.Dirs[controller] = filepath.Join(dir, controller)
		if version == 2 {
			in.Dirs[controller] = dir
		}
	}
	return dir, in
}

// kernelCollector has one pod, db, that the kernel counts for.
func kernelCollector(t *testing.T, version int) (*Collector, string) {
	c := collector(t, &scripted{})
	dir, in := kernel(t, version)
	c.tree = newTree(in)
	db := podOn("db", "2", "c2")
	c.config.Views = func() ([]store.View, int64) { return []store.View{db}, 0 }
	lay(t, c.config.Proc, map[string]string{
		"cpuinfo":    "processor: 0\nphysical id: 0\ncore id: 0\n\nprocessor: 1\nphysical id: 0\ncore id: 0\n",
		"77/net/dev": "head\n  eth0: 5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0\n",
		"77/limits":  "Limit  Soft Hard Units\nMax open files            1024                 4096                 files\n",
		"77/fd/0":    "",
	})
	if err := os.Symlink("socket:[12]", filepath.Join(c.config.Proc, "77/fd/1")); err != nil {
		t.Fatal(err)
	}
	return c, dir
}

func TestPodsAreWhatTheKernelCounts(t *testing.T) {
	for version := range kernels {
		c, _ := kernelCollector(t, version)
		got, _ := c.Summary(t.Context())
		if len(got.Pods) != 1 || len(got.Pods[0].Containers) != 1 {
			t.Fatalf("version %d: got %+v, want db with one container", version, got.Pods)
		}
		db := got.Pods[0]
		main := db.Containers[0]
		for who, of := range map[string]struct {
			cpu    *statsapi.CPUStats
			memory *statsapi.MemoryStats
		}{"pod": {db.CPU, db.Memory}, "container": {main.CPU, main.Memory}} {
			if *of.cpu.UsageCoreNanoSeconds != 3e9 || *of.memory.UsageBytes != 1000 || *of.memory.WorkingSetBytes != 900 ||
				*of.memory.RSSBytes != 500 || *of.memory.AvailableBytes != 3100 {
				t.Errorf("version %d: the %s has %d ns, %+v", version, who, *of.cpu.UsageCoreNanoSeconds, of.memory)
			}
		}
		if main.Name != "main" || *main.Rootfs.UsedBytes != 12 || *db.Network.RxBytes != 5 || *db.ProcessStats.ProcessCount != 2 {
			t.Errorf("version %d: got %+v with %+v and %+v", version, main, db.Network, db.ProcessStats)
		}
		if psi := main.Memory.PSI; version == 1 && psi != nil || version == 2 && (psi.Some.Total != 42 || psi.Some.Avg10 != 1.5 || psi.Full.Total != 7) {
			t.Errorf("version %d: got pressure %+v", version, psi)
		}
		if main.CPU.PSI != nil || db.CPU.PSI != nil || main.IO != nil || db.IO != nil {
			t.Errorf("version %d: got pressure of which there is no file", version)
		}
		if swap := main.Swap.SwapAvailableBytes; swap == nil || *swap != 600 {
			t.Errorf("version %d: got %v bytes of swap left, want 600", version, swap)
		}
	}
}

func TestTheNodesOwnProgramsAreCounted(t *testing.T) {
	for version := range kernels {
		c, _ := kernelCollector(t, version)
		c.tree.in.System = func() map[string]string { return map[string]string{"pods": "/kubepods", "misc": "/gone"} }
		got, _ := c.Usage(t.Context())
		own := got.Node.SystemContainers
		if len(own) != 1 || own[0].Name != "pods" || *own[0].CPU.UsageCoreNanoSeconds != 3e9 || *own[0].Memory.WorkingSetBytes != 900 {
			t.Errorf("version %d: got %+v, want all pods together", version, own)
		}
	}
}

func TestCgroupsHaveWhatTheSummaryHasNot(t *testing.T) {
	for version := range kernels {
		c, _ := kernelCollector(t, version)
		got, _ := c.Cgroups(t.Context())
		byName := map[string]*model.ContainerInfo{}
		for _, info := range got {
			byName[info.Name] = info
		}
		const pod = "/kubepods/pod2"
		for _, name := range []string{"/", "/kubepods", pod, pod + "/sandbox2", pod + "/cri-containerd-c2.scope"} {
			if byName[name] == nil {
				t.Fatalf("version %d: %s is missing among %d", version, name, len(got))
			}
		}
		main := byName[pod+"/cri-containerd-c2.scope"]
		s := main.Stats[0]
		if s.Cpu.Usage.User != 2e9 || s.Cpu.Usage.System != 1e9 || s.Cpu.CFS.ThrottledTime != uint64(5*time.Millisecond) || s.OOMEvents != 1 || s.Memory.Failcnt != 2 {
			t.Errorf("version %d: counts are %+v, %+v", version, s.Cpu, s.Memory)
		}
		if io := s.DiskIo; len(io.IoServiceBytes) != 1 || io.IoServiceBytes[0].Stats["Write"] != 1024 || io.IoServiced[0].Stats["Read"] != 1 || io.IoServiced[0].Major != 9999 {
			t.Errorf("version %d: disks are %+v", version, io)
		}
		if spec := main.Spec; spec.Cpu.Quota != 50000 || spec.Cpu.Period != 100000 || spec.Cpu.Limit < 490 || spec.Cpu.Limit > 512 || spec.Memory.Limit != 4000 || spec.Image != "app:1" {
			t.Errorf("version %d: it is allowed %+v", version, spec)
		}
		if p := s.Processes; p.ProcessCount != 1 || p.FdCount != 2 || p.SocketCount != 1 || p.ThreadsCurrent != 3 || p.Ulimits[0].SoftLimit != 1024 {
			t.Errorf("version %d: processes are %+v", version, p)
		}
		if sandbox := byName[pod+"/sandbox2"].Stats[0]; len(sandbox.Network.Interfaces) != 1 || sandbox.Network.Interfaces[0].TxBytes != 6 {
			t.Errorf("version %d: network is %+v", version, sandbox.Network)
		}
		if m, err := c.Machine(); err != nil || m.NumCores != 2 || m.NumPhysicalCores != 1 || m.NumSockets != 1 || m.MemoryCapacity != 1000<<10 {
			t.Errorf("the machine is %+v (%v)", m, err)
		}
	}
}

func TestACgroupThatGoesKeepsNoOtherBack(t *testing.T) {
	c, dir := kernelCollector(t, 2)
	if err := os.RemoveAll(filepath.Join(dir, "kubepods/pod2/cri-containerd-c2.scope")); err != nil {
		t.Fatal(err)
	}
	got, _ := c.Cgroups(t.Context())
	if names := len(got); names != 4 {
		t.Errorf("without the container there are %d cgroups, want 4", names)
	}
	c, dir = kernelCollector(t, 2)
	groups, _ := c.groups() // found, and then removed
	if err := os.RemoveAll(filepath.Join(dir, "kubepods/pod2")); err != nil {
		t.Fatal(err)
	}
	found := &collection{}
	fill, err := c.kernelPods(groups)
	fill(found)
	if len(found.Pods) != 0 || len(found.groups) != 0 {
		t.Errorf("got %+v of a pod that is gone", found.Pods)
	}
	if err == nil || !strings.Contains(err.Error(), "pod default/db: cgroup /kubepods/pod2") {
		t.Errorf("got %v, want an error that names the pod: it is said to run", err)
	}
	c.config.Views = func() ([]store.View, int64) { return nil, 0 }
	if _, err := c.kernelPods(groups); err != nil {
		t.Errorf("got %v of a pod that is gone", err)
	}
}
