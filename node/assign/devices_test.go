package assign

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
)

const gpu corev1.ResourceName = "example.com/gpu"

// gpus makes devices of words such as "a@0" (healthy, near to NUMA node 0), "b" (without a place) and "c!" (unhealthy).
func gpus(words ...string) Devices {
	made := []node.Device{}
	for _, word := range words {
		word, place, placed := strings.Cut(word, "@")
		id, sick := strings.CutSuffix(word, "!")
		d := node.Device{ID: id, Healthy: !sick}
		if placed {
			for _, digit := range place {
				d.Nodes = append(d.Nodes, int(digit-'0'))
			}
		}
		made = append(made, d)
	}
	return Devices{gpu: made}
}

// asking is a pod whose containers want so many devices each; podOf says of what kind they are.
func asking(wants ...string) *corev1.Pod {
	kinds, counts := []string{}, []string{}
	for _, want := range wants {
		kind, count, ok := strings.Cut(want, ":")
		if !ok {
			kind, count = "app", want
		}
		kinds, counts = append(kinds, kind+":500m"), append(counts, count)
	}
	pod := podOf(kinds...)
	for c := range node.Containers(&pod.Spec) {
		var number int
		_, _ = fmt.Sscanf(strings.TrimLeft(c.Name, "abcdefghijklmnopqrstuvwxyz"), "%d", &number)
		c.Resources.Limits = corev1.ResourceList{gpu: resource.MustParse(counts[number])}
	}
	return pod
}

func handed(shares node.Shares) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(shares)) {
		parts = append(parts, name+"="+strings.Join(shares[name].Devices[gpu], "+"))
	}
	return strings.Join(parts, " ")
}

func holding(ids ...string) []node.Shares {
	return []node.Shares{{"other": {Devices: map[corev1.ResourceName][]string{gpu: ids}}}}
}

func TestDevicesAreHandedOut(t *testing.T) {
	const lack = "Pod was rejected: Allocate failed due to requested number of devices unavailable for example.com/gpu. "
	const sick = "Pod was rejected: Allocate failed due to no healthy devices present; cannot allocate unhealthy devices example.com/gpu, which is unexpected"
	for _, c := range []struct {
		name    string
		devices Devices
		held    []node.Shares
		pod     *corev1.Pod
		want    string // or the refusal
	}{
		{"one", gpus("a", "b"), nil, asking("1"), "app0=a"},
		{"to two containers", gpus("a", "b", "c"), nil, asking("1", "2"), "app0=a app1=b+c"},
		{"none is asked for", gpus("a"), nil, asking("0"), ""},
		{"what another pod holds is left alone", gpus("a", "b"), holding("a"), asking("1"), "app0=b"},
		{"an unhealthy one is left alone", gpus("a!", "b"), nil, asking("1"), "app0=b"},
		{"all are held", gpus("a", "b"), holding("a", "b"), asking("1"), lack + "Requested: 1, Available: 0, which is unexpected"},
		{"too few", gpus("a", "b"), holding("a"), asking("2"), lack + "Requested: 2, Available: 1, which is unexpected"},
		{"too few for the second container", gpus("a", "b"), nil, asking("1", "2"), lack + "Requested: 2, Available: 1, which is unexpected"},
		{"none is healthy", gpus("a!", "b!"), nil, asking("1"), sick},
		{"the plugin has none", gpus(), nil, asking("1"), sick},
		{"the plugin is away, and pods hold its devices", nil, holding("a"), asking("1"), sick},
		{"a resource that no plugin offers is no device", nil, nil, asking("1"), ""},
		{"fewer are offered than are held", gpus("a"), holding("a", "b", "c"), asking("1"), lack + "Requested: 1, Available: 0, which is unexpected"},
		{"an unhealthy one is held, and a healthy one is free", gpus("a!", "b"), holding("a"), asking("1"), "app0=b"},
		{"those of an init container are used again", gpus("a", "b"), nil, asking("init:2", "2"), "app1=a+b init0=a+b"},
		{"and by several", gpus("a", "b"), nil, asking("init:1", "init:2", "1", "1"), "app2=a app3=b init0=a init1=a+b"},
		{"a sidecar keeps its own", gpus("a", "b"), nil, asking("init:1", "sidecar:1", "1"), "app2=b init0=a sidecar1=a"},
		{"which an application then lacks", gpus("a"), nil, asking("sidecar:1", "1"), lack + "Requested: 1, Available: 0, which is unexpected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, refusal := (&Rules{Devices: c.devices}).Pod(c.pod, c.held)
			if refusal != nil {
				if refusal.Message != c.want || refusal.Reason != "UnexpectedAdmissionError" || refusal.Lack != node.LackDevices {
					t.Errorf("refused with %+v, want %q", refusal, c.want)
				}
				return
			}
			if handed(got) != c.want {
				t.Errorf("got %q, want %q", handed(got), c.want)
			}
		})
	}
}

func TestDevicesLieNearToTheRest(t *testing.T) {
	const refused = "TopologyAffinityError"
	two := machine(2, 2, 4, 1)
	withCPUs := func(pod *corev1.Pod, cpus string) *corev1.Pod {
		limits := amounts(cpus, "1Gi")
		limits[gpu] = resource.MustParse("1")
		pod.Spec.Containers[0].Resources.Limits = limits
		return pod
	}
	for _, c := range []struct {
		name    string
		devices Devices
		held    []node.Shares
		pod     *corev1.Pod
		want    map[Align]string // CPUs and devices
	}{
		{"CPUs go where the device is", gpus("a@1"), nil, withCPUs(asking("1"), "2"),
			map[Align]string{AlignNone: "1-2 a", AlignBestEffort: "4-5 a", AlignRestricted: "4-5 a", AlignSingleNode: "4-5 a"}},
		{"and the device where the CPUs are", gpus("a@0", "b@1"), heldOn("1-3", "", 0), withCPUs(asking("1"), "2"),
			map[Align]string{AlignSingleNode: "4-5 b"}},
		{"they are apart", gpus("a@0"), heldOn("1-3", "", 0), withCPUs(asking("1"), "2"),
			map[Align]string{AlignBestEffort: "4-5 a", AlignRestricted: refused, AlignSingleNode: refused}},
		{"the device has no place", gpus("a"), heldOn("1-3", "", 0), withCPUs(asking("1"), "2"),
			map[Align]string{AlignSingleNode: "4-5 a"}},
		{"two of one NUMA node", gpus("a@0", "b@1", "c@1"), nil, asking("2"),
			map[Align]string{AlignNone: " a+b", AlignSingleNode: " b+c", AlignRestricted: " b+c"}},
		{"two of two", gpus("a@0", "b@1"), nil, asking("2"),
			map[Align]string{AlignRestricted: " a+b", AlignSingleNode: refused}},
		{"one of two that could be of one", gpus("a@0", "b@1", "c@1"), holding("c"), asking("2"),
			map[Align]string{AlignBestEffort: " a+b", AlignRestricted: refused}},
		{"one that is near to both", gpus("a@01", "b@1"), nil, asking("1"),
			map[Align]string{AlignSingleNode: " a"}},
		{"without a place goes last", gpus("a", "b@1"), nil, asking("1"), map[Align]string{AlignNone: " b", AlignSingleNode: " b"}},
		{"those of an init container stay near", gpus("a@0", "b@1", "c@1"), nil, asking("init:1", "2"),
			map[Align]string{AlignSingleNode: refused}},
	} {
		for align, want := range c.want {
			t.Run(c.name+", "+string(align), func(t *testing.T) {
				r := &Rules{Topology: two, Static: true, Reserved: set(t, "0"), Align: align, MostNodes: 8, Devices: c.devices}
				shares, refusal := r.Pod(c.pod, c.held)
				if refusal != nil {
					if refusal.Reason != want {
						t.Errorf("refused with %+v, want %q", refusal, want)
					}
					return
				}
				var share node.Share
				for _, last := range slices.Sorted(maps.Keys(shares)) {
					share = shares[last]
					break
				}
				if got := share.CPUs + " " + strings.Join(share.Devices[gpu], "+"); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		}
	}
}

func BenchmarkAThousandDevices(b *testing.B) {
	var words []string
	for i := range 1000 {
		words = append(words, fmt.Sprintf("gpu%04d@%d", i, i%2))
	}
	r := &Rules{Topology: machine(2, 2, 4, 1), Devices: gpus(words...), Align: AlignRestricted, MostNodes: 8}
	for b.Loop() {
		if _, refusal := r.Pod(asking("8"), holding("gpu0001", "gpu0003")); refusal != nil {
			b.Fatal(refusal)
		}
	}
}
