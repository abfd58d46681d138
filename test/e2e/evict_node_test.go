package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/rig"
)

// eater is a pod that fills MEGA megabytes of its volume, and then waits. It ignores SIGTERM.
const eater = `---
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  priorityClassName: "CLASS"
  terminationGracePeriodSeconds: 600
  volumes: [{name: scratch, emptyDir: {MEDIUM}}]
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "trap '' TERM; dd if=/dev/zero of=/scratch/file bs=1M count=MEGA; while :; do sleep 1; done"]
    volumeMounts: [{name: scratch, mountPath: /scratch}]
`

// eats returns such a pod. Its volume lies in memory or on the disk.
func eats(name, class, medium string, mega int) string {
	return strings.NewReplacer("NAME", name, "CLASS", class, "MEDIUM", medium, "MEGA", fmt.Sprint(mega)).Replace(eater)
}

// waitEvicted waits until a pod was evicted because the node ran short.
func (n *node) waitEvicted(name, resource string) *corev1.Pod {
	n.t.Helper()
	p := n.wait(name, name+" evicted", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	low := "The node was low on resource: " + resource + ". Threshold quantity: "
	if s := p.Status; s.Reason != "Evicted" || !strings.HasPrefix(s.Message, low) {
		n.t.Errorf("pod %s has failed with %q: %q, want Evicted: %q", name, s.Reason, s.Message, low)
	}
	disrupted := false
	for _, c := range p.Status.Conditions {
		disrupted = disrupted || c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == "TerminationByKubelet"
	}
	if !disrupted {
		n.t.Errorf("pod %s has the conditions %+v, want that it is the target of a disruption", name, p.Status.Conditions)
	}
	return p
}

// runsUnharmed checks that a pod is ready and was not restarted.
func (n *node) runsUnharmed(name string) {
	n.t.Helper()
	if s := containerStatus(n.waitRunning(name), "main"); s.RestartCount != 0 || !s.Ready {
		n.t.Errorf("pod %s was disturbed: %+v", name, s)
	}
}

// TestANodeShortOfMemoryEvictsThePodThatTakesIt gives all pods together 600 MiB, of which half have to be left. The
// machine has more than enough.
func TestANodeShortOfMemoryEvictsThePodThatTakesIt(t *testing.T) {
	claim.Shows(t, "Resources",
		"a node short of memory evicts the pod that exceeds its requests by most, with Kubernetes' words, and its neighbours run on",
		"a critical pod is not evicted, however much it uses",
		"an evicted pod is not started again, not by the next agent either",
	)
	claim.Shows(t, "Stats and metrics", "kubelet_evictions and kubelet_eviction_stats_age_seconds count pods by the signal that evicted them")
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		t.Fatal(err)
	}
	total := int64(info.Totalram) * int64(info.Unit)
	n := start(t, func(c *agent.Config) {
		c.Settings["systemReserved"] = map[string]string{"memory": fmt.Sprint(total - 600<<20)}
		c.Settings["evictionHard"] = map[string]string{"memory.available": "300Mi"}
		c.Settings["evictionPressureTransitionPeriod"] = "1s"
	})
	n.apply(adding(web("neighbour"), "resources: {requests: {memory: 40Mi}}"))
	n.apply(web("modest").yaml())
	n.apply(eats("critical", "system-node-critical", "medium: Memory", 220))
	n.runsUnharmed("neighbour")
	n.runsUnharmed("modest")
	n.waitRunning("critical")
	n.apply(eats("greedy", "", "medium: Memory", 120))
	p := n.waitEvicted("greedy", "memory")
	if want := "Container main was using "; !strings.Contains(p.Status.Message, want) || !strings.Contains(p.Status.Message, "request is 0, has larger consumption of memory. ") {
		t.Errorf("the message is %q, want it to name the container", p.Status.Message)
	}
	n.eventually("the shortage is over", func() bool {
		return strings.Contains(n.curl("/v1/node").body, `"type":"MemoryPressure","status":"False"`)
	})
	if got := n.curl("/v1/events").body; !strings.Contains(got, `"EvictionThresholdMet"`) || !strings.Contains(got, "Attempting to reclaim memory") {
		t.Errorf("no event of the node reports it: %s", got)
	}
	found := n.metrics("/metrics")
	if got := n.sample(found, "kubelet_evictions", "eviction_signal", "allocatableMemory.available"); got != 1 {
		t.Errorf("%v pods were counted, want 1", got)
	}
	if found["kubelet_eviction_stats_age_seconds"] == nil {
		t.Error("the age of the figures is not counted")
	}
	n.Kill()
	n.up()
	for _, name := range []string{"neighbour", "modest", "critical"} {
		n.runsUnharmed(name)
	}
	n.waitEvicted("greedy", "memory")
	if got := n.containers("greedy"); len(got) > 0 && got[0].running {
		t.Errorf("the evicted pod runs: %+v", got)
	}
	n.deletePod("critical", "?gracePeriodSeconds=1")
}

// TestANodeShortOfDiskRemovesImagesBeforeItEvicts puts the images and the node's own files on one small file system.
func TestANodeShortOfDiskRemovesImagesBeforeItEvicts(t *testing.T) {
	claim.Shows(t, "Resources",
		"a node short of disk removes unused images first, and evicts nothing if that is enough",
		"then it evicts the pod that takes most of the disk, and its neighbours run on",
	)
	t.Parallel()
	n := prepareOn(t, rig.Containerd(t, rig.Disk(256<<20)), func(c *agent.Config) {
		c.Settings["evictionHard"] = map[string]string{"nodefs.available": "80Mi"}
		c.Settings["evictionPressureTransitionPeriod"] = "1s"
		c.Settings["imageGCHighThresholdPercent"] = 100 // only a shortage removes images
	})
	shared := filepath.Join(n.rt.DiskDir(), "node")
	if err := errors.Join(os.MkdirAll(shared, 0o755), os.MkdirAll(n.Root(), 0o755), unix.Mount(shared, n.Root(), "", unix.MS_BIND, "")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(n.Stop(), unix.Unmount(n.Root(), unix.MNT_DETACH)); err != nil {
			t.Error(err)
		}
	})
	n.up()
	n.apply(web("neighbour").yaml())
	image, err := probeImage(24 << 20)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := n.rt.Push("unused:1", image)
	if err != nil {
		t.Fatal(err)
	}
	brief := pod{name: "brief", apps: []program{{name: "main", image: ref, args: []string{"pause"}}}}
	n.apply(brief.yaml())
	n.waitRunning("brief")
	n.deletePod("brief", "?gracePeriodSeconds=1")
	n.apply(eats("small", "", "", 1))
	n.waitRunning("small")

	// So much that the removal of the image makes up for it.
	n.apply(eats("filler", "", "", int(n.spare()>>20)-80+10))
	n.eventually("the unused image is removed", func() bool { return !strings.Contains(n.curl("/v1/images").body, ref) })
	n.eventually("the shortage is over", func() bool {
		return strings.Contains(n.curl("/v1/node").body, `"type":"DiskPressure","status":"False"`)
	})
	for _, name := range []string{"neighbour", "small", "filler"} {
		n.runsUnharmed(name)
	}

	// More than that.
	more := fmt.Sprintf(`{"command": ["sh", "-c", "dd if=/dev/zero of=/scratch/more bs=1M count=%d"]}`, n.spare()>>20-80+10)
	n.curl("/v1/namespaces/default/pods/filler/containers/main:run", "-d", more)
	n.waitEvicted("filler", "ephemeral-storage")
	n.eventually("there is room again", func() bool { return n.spare() > 80<<20 })
	n.runsUnharmed("neighbour")
	n.runsUnharmed("small")
	if got := n.sample(n.metrics("/metrics"), "kubelet_evictions", "eviction_signal", "nodefs.available"); got != 1 {
		t.Errorf("%v pods were counted, want 1", got)
	}
	n.deletePod("small", "?gracePeriodSeconds=1")
}

// spare returns the free bytes of the file system of the node's own files.
func (n *node) spare() int64 {
	n.t.Helper()
	var disk unix.Statfs_t
	if err := unix.Statfs(n.Root(), &disk); err != nil {
		n.t.Fatal(err)
	}
	return int64(disk.Bavail) * disk.Bsize
}
