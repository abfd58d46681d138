package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
	"nodal/test/rig"
)

const hugePool = "/sys/kernel/mm/hugepages/hugepages-2048kB"

func hugePages(t *testing.T, which string) int {
	t.Helper()
	return numberIn(t, filepath.Join(hugePool, which))
}

// addHugePages makes the machine reserve more huge pages until the test ends, and returns how many
// there are then.
func addHugePages(t *testing.T, more int) int {
	t.Helper()
	if _, err := os.Stat(hugePool); err != nil {
		t.Skip("the kernel has no huge pages: ", err)
	}
	before := hugePages(t, "nr_hugepages")
	t.Cleanup(func() { setHugePages(t, before) })
	setHugePages(t, before+more)
	if got := hugePages(t, "nr_hugepages"); got != before+more {
		t.Fatalf("the machine has %d huge pages, want %d", got, before+more)
	}
	return before + more
}

func setHugePages(t *testing.T, n int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(hugePool, "nr_hugepages"), []byte(strconv.Itoa(n)), 0); err != nil {
		t.Error(err)
	}
}

const hugePod = `---
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: pages, emptyDir: {medium: HugePages, sizeLimit: 4Mi}}]
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    resources: {limits: {hugepages-2Mi: SIZE, memory: 32Mi}}
    volumeMounts: [{name: pages, mountPath: /pages}]
`

func TestPodsGetHugePages(t *testing.T) {
	claim.Shows(t, "Resources",
		"the node offers the machine's reserved huge pages, and less memory by that; no page is assigned twice",
		"a container is held to its limit of huge pages if the machine has the cgroup controller",
	)
	claim.Shows(t, "Volumes", "an emptyDir of medium HugePages is a file system of them with its size limit")
	pages := addHugePages(t, 4)
	n := prepareOn(t, rig.Containerd(t)) // not beside other tests, whose nodes would offer less memory
	n.up()
	var told struct{ Capacity, Allocatable corev1.ResourceList }
	n.curl("/v1/node").into(n, &told)
	offered, aside := told.Allocatable["hugepages-2Mi"], told.Capacity.Memory().Value()-told.Allocatable.Memory().Value()
	if want := int64(pages) << 21; offered.Value() != want || aside < want {
		t.Errorf("the node offers %s of huge pages and keeps %d of the memory, want %d", offered.String(), aside, want)
	}
	manifest := func(name, size string) string {
		return strings.NewReplacer("NAME", name, "SIZE", size).Replace(hugePod)
	}
	n.apply(manifest("huge", "4Mi"))
	n.waitRunning("huge")
	free := hugePages(t, "free_hugepages")
	if got := n.inside("huge", "main", "fallocate -l 2097152 /pages/file && df -k /pages | tail -1 | awk '{print $1, $2, $3}'"); got != "hugetlbfs 4096 2048\n" {
		t.Errorf("the volume is %q, want two pages, one of them used", got)
	}
	if got := hugePages(t, "free_hugepages"); got >= free {
		t.Errorf("%d huge pages are free, before the pod took one %d were", got, free)
	}
	limit := n.inside("huge", "main", "cat /sys/fs/cgroup/hugetlb.2MB.max /sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes 2>/dev/null; true")
	if limit != "" && limit != "4194304\n" {
		t.Errorf("its cgroup is held to %q, want 4194304", limit)
	}

	n.apply(manifest("late", fmt.Sprintf("%dMi", 2*pages)))
	p := n.wait("late", "it is refused", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if p.Status.Reason != "OutOfhugepages-2Mi" {
		t.Errorf("the pod that wants all of them failed with %s: %s, want OutOfhugepages-2Mi", p.Status.Reason, p.Status.Message)
	}
	n.deletePod("huge", "")
	n.eventually("its pages are free again", func() bool { return hugePages(t, "free_hugepages") >= free })
}

func TestTheOfferFollowsTheMachine(t *testing.T) {
	claim.Shows(t, "Resources",
		"the node offers resources that the machine gains, such as huge pages, without a restart",
		"running pods stay when the machine loses resources, and new ones are refused",
	)
	pages := addHugePages(t, 2)
	n := prepareOn(t, rig.Containerd(t)) // not beside other tests, whose nodes would offer less memory
	n.up()
	offers := func(pages int) {
		t.Helper()
		want := fmt.Sprintf(`"hugepages-2Mi":"%dMi"`, 2*pages)
		n.eventually(fmt.Sprintf("the node offers %d huge pages", pages), func() bool {
			return strings.Count(n.curl("/v1/node").body, want) == 2 // in capacity and in allocatable
		})
	}
	apply := func(name string, pages int) {
		t.Helper()
		n.apply(strings.NewReplacer("NAME", name, "SIZE", fmt.Sprintf("%dMi", 2*pages)).Replace(hugePod))
	}
	offers(pages)
	apply("first", pages)
	n.waitRunning("first")
	more := addHugePages(t, 2)
	offers(more)
	apply("second", 2)
	n.waitRunning("second")
	n.deletePod("second", "")
	setHugePages(t, pages)
	offers(pages)
	apply("third", 2)
	p := n.wait("third", "it is refused", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if p.Status.Reason != "OutOfhugepages-2Mi" {
		t.Errorf("the new pod failed with %s: %s, want OutOfhugepages-2Mi", p.Status.Reason, p.Status.Message)
	}
	n.waitRunning("first")
}
