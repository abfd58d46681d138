package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestUserIsShownWhereItIsKnown(t *testing.T) {
	var s corev1.ContainerStatus
	setUser(&s, &node.Container{})
	if s.User != nil || s.StopSignal != nil {
		t.Errorf("of an unknown user it shows %v and %v, want nothing", s.User, s.StopSignal)
	}
	setUser(&s, &node.Container{User: &corev1.LinuxContainerUser{UID: 7, GID: 8, SupplementalGroups: []int64{9}}, StopSignal: "SIGUSR1"})
	if s.User == nil || s.User.Linux.UID != 7 || s.User.Linux.GID != 8 || len(s.User.Linux.SupplementalGroups) != 1 || *s.StopSignal != "SIGUSR1" {
		t.Errorf("it shows %v and %v, want what the runtime told", s.User, s.StopSignal)
	}
}
