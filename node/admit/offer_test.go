package admit

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node/health"
)

func quantities(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func TestWhatANodeOffersOfItsMachine(t *testing.T) {
	machine := Machine{CPUs: 4, Memory: 8 << 30, Disk: 100 << 30}
	paged, equipped := machine, machine
	paged.HugePages = []HugePages{{Size: 2 << 20, Number: 512}, {Size: 1 << 30, Number: 1}}
	equipped.Extended = quantities("example.com/gpu", "2")
	threshold := health.Threshold{Quantity: resource.MustParse("100Mi")}
	tenth := health.Threshold{Percent: 10}
	for _, c := range []struct {
		name     string
		machine  Machine
		reserved Reserved
		want     corev1.ResourceList // allocatable
		err      string              // a part of it
	}{
		{"all of it", machine, Reserved{}, quantities("cpu", "4", "memory", "8Gi", "ephemeral-storage", "100Gi", "pods", "110"), ""},
		{"without what other programs have", machine,
			Reserved{Kube: quantities("cpu", "500m"), System: quantities("memory", "1Gi", "ephemeral-storage", "10Gi")},
			quantities("cpu", "3500m", "memory", "7Gi", "ephemeral-storage", "90Gi", "pods", "110"), ""},
		{"without what has to be left", machine,
			Reserved{Eviction: map[string]health.Threshold{"memory.available": threshold, "nodefs.available": tenth, "nodefs.inodesFree": tenth, "pid.available": tenth}},
			quantities("cpu", "4", "memory", "8092Mi", "ephemeral-storage", "90Gi", "pods", "110"), ""},
		{"without the memory in huge pages", paged, Reserved{},
			quantities("cpu", "4", "memory", "6Gi", "ephemeral-storage", "100Gi", "pods", "110", "hugepages-2Mi", "1Gi", "hugepages-1Gi", "1Gi"), ""},
		{"with extended resources", equipped, Reserved{},
			quantities("cpu", "4", "memory", "8Gi", "ephemeral-storage", "100Gi", "pods", "110", "example.com/gpu", "2"), ""},
		{"nothing of a resource that is reserved in vain", machine, Reserved{Kube: quantities("cpu", "5"), System: quantities("memory", "1Gi")},
			quantities("cpu", "0", "memory", "7Gi", "ephemeral-storage", "100Gi", "pods", "110"), "kubeReserved[cpu]: 5 of cpu exceeds the 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			capacity := c.machine.Capacity(110)
			got, err := c.reserved.Allocatable(c.machine, capacity)
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got the error %v, want %q", err, c.err)
			}
			if len(got) != len(c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			for name, want := range c.want {
				if has := got[name]; has.Cmp(want) != 0 {
					t.Errorf("%s: got %s, want %s", name, has.String(), want.String())
				}
			}
		})
	}
}

func TestAllPodsTogetherAreHeldToWhatIsNotReserved(t *testing.T) {
	reserved := Reserved{
		Kube: quantities("cpu", "1", "pid", "100"), System: quantities("memory", "1Gi"),
		Eviction: map[string]health.Threshold{"memory.available": {Quantity: resource.MustParse("1Gi")}},
	}
	held := reserved
	held.HoldAll = true
	machine := Machine{CPUs: 4, Memory: 8 << 30, PIDs: 1000}
	silent := machine
	silent.PIDs = 0
	for _, c := range []struct {
		name     string
		machine  Machine
		reserved Reserved
		want     string // shares of CPUs, bytes of memory, processes
	}{
		{"to the whole machine, unless they are to be held", machine, reserved, "4096 8589934592 1000"},
		{"without thresholds, which evict before the kernel has to act", machine, held, "3072 7516192768 900"},
		{"with no bound on processes, where the kernel has none", silent, held, "3072 7516192768 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := c.reserved.AllPods(c.machine, c.machine.Capacity(110))
			if got := fmt.Sprint(l.CPUShares, " ", l.Memory, " ", l.Pids); err != nil || got != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}
