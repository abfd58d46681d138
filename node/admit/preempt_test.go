package admit

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
)

// limits makes a pod that asks for so much a guaranteed one.
func limits(cpu, memory string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		list := corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)}
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: list, Limits: list}
	}
}

func class(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.PriorityClassName = name }
}

func priority(value int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Priority = &value }
}

func TestPreempt(t *testing.T) {
	const tcp = corev1.ProtocolTCP
	n := Node{Allocatable: corev1.ResourceList{
		"cpu": resource.MustParse("4"), "memory": resource.MustParse("4Gi"), "pods": resource.MustParse("6"), "hugepages-2Mi": resource.MustParse("8Mi"),
	}}
	critical := class("system-node-critical")
	runs := func(p *corev1.Pod) Rival { return Rival{Pod: &node.Pod{Object: p, Source: node.SourceAPI}} }
	ends := func(p *corev1.Pod) Rival {
		return Rival{Pod: &node.Pod{Object: p, Source: node.SourceAPI}, Ending: true}
	}
	stays := func(p *corev1.Pod) Rival {
		return Rival{Pod: &node.Pod{Object: p, Source: node.SourceAPI}, Stays: true}
	}
	static := func(p *corev1.Pod) Rival { return Rival{Pod: &node.Pod{Object: p, Source: node.SourceFile}} }
	for _, c := range []struct {
		name   string
		pod    Rival
		rivals []Rival
		want   []string
		lack   corev1.ResourceName
	}{
		{"nobody goes where there is room", runs(pod("a", critical, asks("cpu", "1"))), []Rival{runs(pod("b", asks("cpu", "3")))}, nil, ""},
		{"nobody goes for a pod like any other", runs(pod("a", asks("cpu", "2"))), []Rival{runs(pod("b", asks("cpu", "3")))}, nil, ""},
		{"who is in the way goes for a critical one", runs(pod("a", critical, asks("cpu", "2"))), []Rival{runs(pod("b", asks("cpu", "3")))}, []string{"b"}, "cpu"},
		{"and for a static one", static(pod("a", asks("memory", "2Gi"))), []Rival{runs(pod("b", asks("memory", "3Gi")))}, []string{"b"}, "memory"},
		{"and for one with a priority as high", runs(pod("a", priority(2_000_000_000), asks("hugepages-2Mi", "2Mi"))),
			[]Rival{runs(pod("b", asks("hugepages-2Mi", "8Mi")))}, []string{"b"}, "hugepages-2Mi"},
		{"nobody goes if that is not enough", runs(pod("a", critical, asks("cpu", "2"))),
			[]Rival{runs(pod("b", asks("cpu", "1"))), static(pod("c", asks("cpu", "3")))}, nil, ""},
		{"a pod that is left alone stays", runs(pod("a", critical, asks("cpu", "2"))),
			[]Rival{stays(pod("b", asks("cpu", "2"))), runs(pod("c", asks("cpu", "2")))}, []string{"c"}, "cpu"},
		{"a static pod stays", runs(pod("a", critical, asks("cpu", "2"))),
			[]Rival{static(pod("b", asks("cpu", "2"))), runs(pod("c", asks("cpu", "2")))}, []string{"c"}, "cpu"},
		{"critical pods go for those of a higher priority", runs(pod("a", priority(2_000_001_000), asks("cpu", "2"))),
			[]Rival{runs(pod("b", priority(2_000_000_000), asks("cpu", "4")))}, []string{"b"}, "cpu"},
		{"and not for those of their own", runs(pod("a", priority(2_000_000_000), asks("cpu", "2"))),
			[]Rival{runs(pod("b", priority(2_000_000_000), asks("cpu", "4")))}, nil, ""},
		{"nobody goes where a selector keeps the pod away", runs(pod("a", critical, onDisk("ssd"), asks("cpu", "2"))),
			[]Rival{runs(pod("b", asks("cpu", "3")))}, nil, ""},
		{"nor where a port is taken, even by one that could go", runs(pod("a", critical, port("", 80, tcp), asks("cpu", "2"))),
			[]Rival{runs(pod("b", port("", 80, tcp), asks("cpu", "3")))}, nil, ""},

		{"of two the smaller that is enough", runs(pod("a", critical, asks("cpu", "1"))),
			[]Rival{runs(pod("b", asks("cpu", "2500m"))), runs(pod("c", asks("cpu", "1500m")))}, []string{"c"}, "cpu"},
		{"one rather than two", runs(pod("a", critical, asks("cpu", "2"))),
			[]Rival{runs(pod("b", asks("cpu", "1"))), runs(pod("c", asks("cpu", "1"))), runs(pod("d", asks("cpu", "2")))}, []string{"d"}, "cpu"},
		{"two if one is not enough, the larger first", runs(pod("a", critical, asks("cpu", "2500m"))),
			[]Rival{runs(pod("b", asks("cpu", "500m"))), runs(pod("c", asks("cpu", "1500m"))), runs(pod("d", asks("cpu", "2")))}, []string{"d", "b"}, "cpu"},
		{"of equals the first by name", runs(pod("a", critical, asks("cpu", "1"))),
			[]Rival{runs(pod("c", asks("cpu", "2"))), runs(pod("b", asks("cpu", "2")))}, []string{"b"}, "cpu"},
		{"burstable pods before guaranteed ones", runs(pod("a", critical, asks("cpu", "1"))),
			[]Rival{runs(pod("b", limits("2", "1Gi"))), runs(pod("c", asks("cpu", "2")))}, []string{"c"}, "cpu"},
		{"a guaranteed one too if it has to be", runs(pod("a", critical, asks("cpu", "3"))),
			[]Rival{runs(pod("b", limits("2", "1Gi"))), runs(pod("c", asks("cpu", "1500m")))}, []string{"b", "c"}, "cpu"},
		{"and nobody beside it who need not go then", runs(pod("a", critical, asks("cpu", "3500m"))),
			[]Rival{runs(pod("b", limits("3", "1Gi"))), runs(pod("c", asks("cpu", "500m"))), runs(pod("d", asks("memory", "1Gi")))}, []string{"b"}, "cpu"},
		{"for a place the best-effort one", runs(pod("a", critical)), []Rival{
			runs(pod("b", asks("cpu", "1m"))), runs(pod("c", limits("1m", "1Mi"))), runs(pod("d")), static(pod("e")), static(pod("f")), static(pod("g")),
		}, []string{"d"}, "pods"},
		{"nobody who need not go once others had to be taken too", runs(pod("a", critical, func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("2Gi")}
		})), []Rival{
			runs(pod("b", limits("1", "1Gi"))), runs(pod("c", asks("cpu", "2"))), runs(pod("d", asks("memory", "2Gi"))),
			runs(pod("e", asks("cpu", "1"), func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests["memory"] = resource.MustParse("1Gi")
			})),
		}, []string{"c", "d"}, "cpu"},

		{"who ends anyway is waited for", runs(pod("a", critical, asks("cpu", "2"))),
			[]Rival{runs(pod("b", asks("cpu", "2"))), ends(pod("c", asks("cpu", "2")))}, []string{"c"}, "cpu"},
		{"even a guaranteed one", runs(pod("a", critical, asks("cpu", "1"))),
			[]Rival{runs(pod("b", asks("cpu", "2"))), ends(pod("c", limits("2", "1Gi")))}, []string{"c"}, "cpu"},
		{"nobody who ends is waited for if that is of no use", runs(pod("a", critical, asks("cpu", "2"))),
			[]Rival{runs(pod("b", asks("cpu", "3"))), ends(pod("c", asks("memory", "1Gi")))}, []string{"b"}, "cpu"},
		{"who has a port of it and ends is waited for", static(pod("a", port("", 80, tcp))),
			[]Rival{runs(pod("b", port("", 81, tcp))), ends(pod("c", port("", 80, tcp)))}, []string{"c"}, ""},
		{"and nobody makes way for what is free then", runs(pod("a", critical, port("", 80, tcp), asks("cpu", "2"))),
			[]Rival{runs(pod("b", asks("cpu", "2"))), ends(pod("c", port("", 80, tcp), asks("cpu", "2")))}, []string{"c"}, ""},
		{"but for what is not", runs(pod("a", critical, port("", 80, tcp), asks("cpu", "3"))),
			[]Rival{runs(pod("b", asks("cpu", "3"))), ends(pod("c", port("", 80, tcp), asks("cpu", "1")))}, []string{"c", "b"}, "cpu"},
		{"nobody is waited for if another keeps such a port", runs(pod("a", critical, port("", 80, tcp), port("", 81, tcp))),
			[]Rival{runs(pod("b", port("", 81, tcp))), ends(pod("c", port("", 80, tcp)))}, nil, ""},
		{"nor for a pod like any other", runs(pod("a", port("", 80, tcp))), []Rival{ends(pod("b", port("", 80, tcp)))}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			chosen, lack := n.Preempt(c.pod.Pod, c.rivals)
			var got []string
			stay := slices.Clone(c.rivals)
			for _, r := range chosen {
				got = append(got, r.Object.Name)
				stay = slices.DeleteFunc(stay, func(s Rival) bool { return s.Pod == r.Pod })
			}
			if !slices.Equal(got, c.want) || lack != c.lack {
				t.Fatalf("got %q for %s, want %q for %s", got, lack, c.want, c.lack)
			}
			if len(chosen) == 0 {
				return
			}
			if refusal := n.Check(c.pod.Object, Objects(stay)); refusal != nil {
				t.Errorf("and then it is refused: %v", *refusal)
			}
			for _, r := range chosen {
				if n.Check(c.pod.Object, Objects(append(slices.Clone(stay), r))) == nil {
					t.Errorf("%s need not go", r.Object.Name)
				}
			}
		})
	}
}
