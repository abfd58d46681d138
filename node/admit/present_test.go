package admit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

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
