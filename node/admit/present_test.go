package admit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestANodeUnderPressureTakesOnlyPodsThatItMust(t *testing.T) {
	const memory, disk, pids = corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure
	type list = []corev1.NodeConditionType
	class := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.PriorityClassName = name }
	}
	priority := func(n int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Priority = &n }
	}
	burst := asks(corev1.ResourceMemory, "1Mi")
	bears := tolerates(corev1.Toleration{Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists})
	for _, c := range []struct {
		name   string
		short  list
		source node.Source
		pod    *corev1.Pod
		want   string // the conditions that it is refused for
	}{
		{"of nothing", nil, node.SourceAPI, pod("a"), ""},
		{"of memory, a pod that asks for none", list{memory}, node.SourceAPI, pod("a"), "[MemoryPressure]"},
		{"of memory, a pod that says how much it takes", list{memory}, node.SourceAPI, pod("a", burst), ""},
		{"of memory, a pod that bears that", list{memory}, node.SourceAPI, pod("a", bears), ""},
		{"of memory, a pod that bears something else", list{memory}, node.SourceAPI,
			pod("a", tolerates(corev1.Toleration{Key: corev1.TaintNodeDiskPressure, Operator: corev1.TolerationOpExists})), "[MemoryPressure]"},
		{"of memory, a pod that bears to stay alone", list{memory}, node.SourceAPI,
			pod("a", tolerates(corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})), "[MemoryPressure]"},
		{"of disk, whatever a pod asks for", list{disk}, node.SourceAPI, pod("a", burst), "[DiskPressure]"},
		{"of disk, whatever a pod bears", list{disk}, node.SourceAPI, pod("a", tolerates(corev1.Toleration{Operator: corev1.TolerationOpExists})), "[DiskPressure]"},
		{"of processes", list{pids}, node.SourceAPI, pod("a", burst), "[PIDPressure]"},
		{"of memory and of disk", list{memory, disk}, node.SourceAPI, pod("a", burst, bears), "[MemoryPressure DiskPressure]"},
		{"a static pod of a file", list{memory, disk, pids}, node.SourceFile, pod("a"), ""},
		{"a static pod of a URL", list{disk}, node.SourceURL, pod("a"), ""},
		{"a pod that says of itself that it is static", list{disk}, node.SourceAPI, pod("a", func(p *corev1.Pod) {
			p.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
		}), "[DiskPressure]"},
		{"what the node needs", list{disk}, node.SourceAPI, pod("a", class("system-node-critical")), ""},
		{"what the cluster needs", list{disk}, node.SourceAPI, pod("a", class("system-cluster-critical")), ""},
		{"another class", list{disk}, node.SourceAPI, pod("a", class("high")), "[DiskPressure]"},
		{"the priority from which pods are needed", list{disk}, node.SourceAPI, pod("a", priority(2_000_000_000)), ""},
		{"the highest that a user may give", list{disk}, node.SourceAPI, pod("a", priority(1_000_000_000)), "[DiskPressure]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Present{Pressures: c.short}.Check(&node.Pod{Object: c.pod, Source: c.source})
			switch {
			case c.want == "" && got != nil:
				t.Errorf("got %v, want it taken", *got)
			case c.want != "" && (got == nil || got.Reason != "Evicted" || got.Message != "Pod was rejected: The node had condition: "+c.want+". "):
				t.Errorf("got %v, want it refused for %s", got, c.want)
			}
		})
	}
}

func TestStrictGroupsNeedARuntimeThatKnowsThem(t *testing.T) {
	asking := func(policy corev1.SupplementalGroupsPolicy) *corev1.Pod {
		return pod("a", func(p *corev1.Pod) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{SupplementalGroupsPolicy: &policy}
		})
	}
	for _, c := range []struct {
		name    string
		lacks   bool
		pod     *corev1.Pod
		refused bool
	}{
		{"nothing asked for", true, pod("a"), false},
		{"a context without a policy", true, pod("a", sets()), false},
		{"what every runtime does", true, asking(corev1.SupplementalGroupsPolicyMerge), false},
		{"strict, where the runtime lacks it", true, asking(corev1.SupplementalGroupsPolicyStrict), true},
		{"strict, where it can or nobody knows", false, asking(corev1.SupplementalGroupsPolicyStrict), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Present{MergeGroups: c.lacks}.Check(&node.Pod{Object: c.pod, Source: node.SourceFile})
			if (got != nil) != c.refused {
				t.Fatalf("got %v, want it refused: %t", got, c.refused)
			}
			want := node.Refusal{
				Reason: "SupplementalGroupsPolicyNotSupported", Message: "Pod was rejected: SupplementalGroupsPolicy=Strict is not supported in this node",
			}
			if got != nil && *got != want {
				t.Errorf("got %v, want Kubernetes' words", *got)
			}
		})
	}
}
