package agent

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestNewPodsSeeTheNodeAsItIs(t *testing.T) {
	var known *node.RuntimeStatus
	short := []corev1.NodeConditionType{corev1.NodeDiskPressure}
	now := present(func() bool { return false }, func() []corev1.NodeConditionType { return short }, func() *node.RuntimeStatus { return known })
	if p := now(); !slices.Equal(p.Pressures, short) || p.MergeGroups {
		t.Errorf("with an unknown runtime: got %+v", p)
	}
	known = &node.RuntimeStatus{}
	if p := now(); !p.MergeGroups {
		t.Error("a runtime without a policy for groups is not known to merge them")
	}
	known = &node.RuntimeStatus{Features: node.RuntimeFeatures{SupplementalGroupsPolicy: true}}
	if p := now(); p.MergeGroups {
		t.Error("a runtime with a policy for groups is taken to merge them")
	}
}

func TestPreemptionIsReportedAndCounted(t *testing.T) {
	var told []node.Event
	var lacked []string
	tell := preempted(func(e node.Event) { told = append(told, e) }, func(lack string) { lacked = append(lacked, lack) })
	web := &corev1.Pod{}
	web.Namespace, web.Name, web.UID = "default", "web", "u"
	tell(&node.Pod{Object: web}, corev1.ResourceMemory)
	if len(told) != 1 || told[0].Key != node.KeyOf(web) || told[0].UID != "u" || told[0].Reason != node.Preempting {
		t.Errorf("reported is %+v, want the end of the pod", told)
	}
	if !slices.Equal(lacked, []string{"memory"}) {
		t.Errorf("counted is %q, want memory", lacked)
	}
}
