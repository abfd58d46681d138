package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
)

// scratch is a pod with a volume, which ignores SIGTERM. It writes four megabytes into the volume.
const scratch = `---
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 600
  volumes: [{name: scratch, emptyDir: {VOLUME}}]
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "trap '' TERM; dd if=/dev/zero of=/scratch/file bs=1M count=4; while :; do sleep 1; done"]
    resources: {LIMITS}
    volumeMounts: [{name: scratch, mountPath: /scratch}]
`

// pair is a pod of two containers. One writes more than its own limit, but less than the limit of
// both together.
const pair = `---
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "WRITE; exec sleep 1000"]
    resources: {limits: {ephemeral-storage: 1Mi}}
  - name: other
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    resources: {limits: {ephemeral-storage: 1Gi}}
`

func TestPodsThatWriteTooMuchAreEvicted(t *testing.T) {
	claim.Shows(t, "Resources",
		"a pod that writes more into an emptyDir than its sizeLimit is evicted within seconds, whatever its grace period",
		"a pod is evicted if a container writes more than its ephemeral-storage limit, to its files or its log",
		"a pod is evicted if its containers and emptyDirs together take more than its ephemeral-storage limits",
		"a pod within its disk limits runs on beside those that are evicted",
	)
	claim.Shows(t, "Stats and metrics", "kubelet_evictions counts the pods that were over a limit of the disk, by the limit")
	n := start(t)
	with := func(manifest, name string, more ...string) string {
		return strings.NewReplacer(append(more, "NAME", name)...).Replace(manifest)
	}
	n.apply(with(scratch, "volume", "VOLUME", "sizeLimit: 1Mi", "LIMITS", "") +
		with(scratch, "whole", "VOLUME", "", "LIMITS", "limits: {ephemeral-storage: 1Mi}") +
		with(scratch, "within", "VOLUME", "sizeLimit: 8Mi", "LIMITS", "limits: {ephemeral-storage: 16Mi}") +
		with(pair, "layer", "WRITE", "dd if=/dev/zero of=/file bs=1M count=4") +
		with(pair, "log", "WRITE", "yes it writes and writes | head -c 4194304"))
	for name, want := range map[string]string{
		"volume": `Usage of EmptyDir volume "scratch" exceeds the limit "1Mi".`,
		"layer":  `Container main exceeded its local ephemeral storage limit "1Mi".`,
		"log":    `Container main exceeded its local ephemeral storage limit "1Mi".`,
		"whole":  `Pod ephemeral local storage usage exceeds the total limit of containers 1Mi.`,
	} {
		p := n.wait(name, name+" failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
		if p.Status.Reason != "Evicted" || p.Status.Message != want {
			t.Errorf("pod %s has failed with %q: %q, want Evicted: %q", name, p.Status.Reason, p.Status.Message, want)
		}
	}
	if got := n.curl("/v1/events?namespace=default&name=volume").body; !strings.Contains(got, `"Evicted"`) {
		t.Errorf("no event reports it: %s", got)
	}
	found := n.metrics("/metrics")
	for limit, want := range map[string]float64{"emptydirfs.limit": 1, "ephemeralpodfs.limit": 1, "ephemeralcontainerfs.limit": 2} {
		if got := n.sample(found, "kubelet_evictions", "eviction_signal", limit); got != want {
			t.Errorf("%v pods were evicted for %s, want %v", got, limit, want)
		}
	}
	left := filepath.Join(n.Root(), "pods", string(n.get("volume").UID), "volumes")
	n.eventually("the volume of a pod that was evicted is removed", func() bool {
		_, err := os.Lstat(left)
		return errors.Is(err, fs.ErrNotExist)
	})
	if p := n.waitRunning("within"); containerStatus(p, "main").RestartCount != 0 {
		t.Errorf("the pod within its limits was restarted: %+v", p.Status)
	}
	n.deletePod("within", "?gracePeriodSeconds=1")
}
