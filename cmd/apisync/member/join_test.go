package member

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	nodev1 "nodal/api/gen/node/v1"
)

func TestConditionsAreTheNodesAndTheirTimesTheClusters(t *testing.T) {
	began := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	now := began.Add(time.Hour)
	p := &place{now: func() time.Time { return now }}
	p.sent.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(began.Add(-time.Hour))},
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(began.Add(-time.Hour))},
	}
	status := p.status(&nodev1.GetNodeResponse{Conditions: []*nodev1.NodeCondition{
		{Type: "DiskPressure", Status: "True", Reason: "KubeletHasDiskPressure", Message: "full", TransitionedAt: timestamppb.New(began)},
		{Type: "Ready", Status: "False", Reason: "KubeletNotReady", Message: "gone", TransitionedAt: timestamppb.New(began)},
	}})
	p.since(&status)
	want := []corev1.NodeCondition{
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue, Reason: "KubeletHasDiskPressure", Message: "full", LastTransitionTime: metav1.NewTime(began.Add(-time.Hour))},
		{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", Message: "gone", LastTransitionTime: metav1.NewTime(began)},
	}
	for i, got := range status.Conditions {
		want[i].LastHeartbeatTime = metav1.NewTime(now)
		if got != want[i] {
			t.Errorf("got %+v\nwant %+v", got, want[i])
		}
	}
	if len(status.Conditions) != len(want) {
		t.Errorf("got %d conditions, want %d", len(status.Conditions), len(want))
	}
}
