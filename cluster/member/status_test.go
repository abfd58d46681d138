package member

import (
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestStatusForKeepsWhatOthersSay(t *testing.T) {
	s := given(wanted("u1"), here("u1"))
	s.want.Generation = 7
	s.want.Status.NominatedNodeName = "n"
	s.want.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionFalse}, {Type: "example.com/other", Status: corev1.ConditionTrue},
	}
	s.have.object.Status.ObservedGeneration = 1
	s.have.object.Annotations = map[string]string{annotationGeneration: "6"}
	s.have.object.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, ObservedGeneration: 1}, {Type: "example.com/mine", Status: corev1.ConditionTrue},
	}
	got := statusFor(s.want, s.have)
	want := []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, ObservedGeneration: 6}, {Type: "example.com/other", Status: corev1.ConditionTrue},
	}
	if len(got.Conditions) != 2 || got.Conditions[0] != want[0] || got.Conditions[1] != want[1] {
		t.Errorf("the conditions are %+v, want %+v", got.Conditions, want)
	}
	if got.ObservedGeneration != 6 || got.NominatedNodeName != "n" {
		t.Errorf("the status is %+v, want the generation that the node has, and the cluster's nomination", got)
	}
}

func TestStatusForSaysThatThePodHadToEnd(t *testing.T) {
	cluster := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"}
	ours := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet}
	for _, c := range []struct {
		name string
		says []corev1.PodCondition // the node
		want string
	}{
		{"the node does", []corev1.PodCondition{ours}, ours.Reason},
		{"only the cluster does", nil, cluster.Reason},
	} {
		s := given(wanted("u1"), here("u1"))
		s.want.Status.Conditions = []corev1.PodCondition{cluster}
		s.have.object.Status.Conditions = c.says
		if got := statusFor(s.want, s.have).Conditions; len(got) != 1 || got[0].Reason != c.want {
			t.Errorf("%s: got %+v, want it with %s", c.name, got, c.want)
		}
	}
}

func TestTheGenerationIsTheOneThatTheNodeShows(t *testing.T) {
	shows := func(generation string) option {
		return func(s *scene) { s.have.object.Annotations = map[string]string{annotationGeneration: generation} }
	}
	knows := func(s *scene) { s.want.Status.ObservedGeneration = 5 }
	for _, c := range []struct {
		name    string
		options []option
		want    int64
	}{
		{"what the cluster has by now", []option{shows("7")}, 7},
		{"an earlier one, while the node has no other", []option{shows("6")}, 6},
		{"none less than the cluster has been told", []option{shows("4"), knows}, 5},
		{"what the cluster has been told, of a pod without one", []option{knows}, 5},
		{"none of a mirror", []option{foreign, mirrors("u1")}, 0},
		{"that of the deletion, once the node knows of it", []option{shows("6"), deleted(30), ends(30)}, 7},
		{"an earlier one, until it does", []option{shows("6"), deleted(30)}, 6},
	} {
		s := given(append([]option{wanted("u1"), here("u1")}, c.options...)...)
		s.want.Generation = 7
		if got := statusFor(s.want, s.have).ObservedGeneration; got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestEndOfPods(t *testing.T) {
	ended := func(code int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}}
	}
	running := corev1.ContainerStatus{Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	for _, c := range []struct {
		name       string
		known      corev1.PodPhase // to the cluster
		containers []corev1.ContainerStatus
		want       corev1.PodPhase
	}{
		{"every container had succeeded", "", []corev1.ContainerStatus{ended(0)}, corev1.PodSucceeded},
		{"one was killed", "", []corev1.ContainerStatus{ended(137)}, corev1.PodFailed},
		{"the end was not seen", "", []corev1.ContainerStatus{running}, corev1.PodFailed},
		{"none was ever made", "", nil, corev1.PodFailed},
		{"it was known before", corev1.PodSucceeded, []corev1.ContainerStatus{ended(1)}, corev1.PodSucceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := given(wanted("u1"), here("u1"), gone)
			s.want.Status.Phase = c.known
			s.have.object.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: c.containers}
			got := statusFor(s.want, s.have)
			if got.Phase != c.want {
				t.Errorf("the phase is %s, want %s", got.Phase, c.want)
			}
			for _, status := range got.ContainerStatuses {
				if status.Ready || status.State.Terminated == nil {
					t.Errorf("a container of a pod that is gone is %+v", status)
				}
			}
		})
	}
}

func TestAStatusOnTheWayCanWait(t *testing.T) {
	waits := func(reason string) corev1.ContainerStatus {
		return corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
	}
	ended := func(code int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}}
	}
	restarted := waits("PodInitializing")
	restarted.RestartCount = 1
	for _, c := range []struct {
		name      string
		phase     corev1.PodPhase
		container corev1.ContainerStatus
		want      bool
	}{
		{"its container is being made", corev1.PodPending, waits("ContainerCreating"), true},
		{"an init container has done its part", corev1.PodPending, ended(0), true},
		{"an init container has failed", corev1.PodPending, ended(1), false},
		{"an init container starts over", corev1.PodPending, restarted, false},
		{"its image is not to be had", corev1.PodPending, waits("ErrImagePull"), false},
		{"it runs", corev1.PodRunning, corev1.ContainerStatus{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := given(wanted("u1"), here("u1"))
			s.have.object.Status = corev1.PodStatus{Phase: c.phase, InitContainerStatuses: []corev1.ContainerStatus{c.container}}
			if got := next(s); got.verb != report || got.canWait != c.want {
				t.Errorf("the step is %s, which can wait: %t, want %t", got, got.canWait, c.want)
			}
		})
	}
}

func TestStatusesThatCanWaitAreHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPods("n", nil, nil, nil, nil)
		defer p.queue.ShutDown()
		key := types.NamespacedName{Namespace: "default", Name: "web"}
		for range 2 {
			if !p.holdBack(key, true) {
				t.Error("a status that can wait is sent at once")
			}
		}
		if got, _ := p.queue.Get(); got != key {
			t.Errorf("the queue brings back %s, want %s", got, key)
		}
		if p.holdBack(key, true) {
			t.Errorf("after %s the status is held back still", statusDelay)
		}
		if !p.holdBack(key, true) {
			t.Error("one that follows at once is sent")
		}
		if p.holdBack(key, false) {
			t.Error("a status that cannot wait is held back")
		}
	})
}

// What another kubelet has told the cluster of a pod stays as it is, as far as it still holds.
func TestStatusForKeepsTheTimesOfWhatHoldsAsBefore(t *testing.T) {
	at := func(seconds int64) metav1.Time { return metav1.Unix(seconds, 0) }
	condition := func(status corev1.ConditionStatus, seconds int64) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: at(seconds)}}
	}
	for _, c := range []struct {
		name          string
		cluster, node []corev1.PodCondition
		want          int64
	}{
		{"it holds as before, since a little earlier", condition("True", 20), condition("True", 19), 20},
		{"it holds as before, found a little later", condition("True", 20), condition("True", 23), 20},
		{"it no longer holds", condition("True", 20), condition("False", 19), 19},
		{"the cluster has not heard of it", nil, condition("True", 19), 19},
	} {
		s := given(wanted("u1"), here("u1"))
		s.want.Status.Conditions, s.have.object.Status.Conditions = c.cluster, c.node
		if got := statusFor(s.want, s.have).Conditions[0].LastTransitionTime; !got.Equal(new(at(c.want))) {
			t.Errorf("%s: got %s, want %s", c.name, got, at(c.want))
		}
	}
	s := given(wanted("u1"), here("u1"))
	s.want.Status.StartTime, s.have.object.Status.StartTime = new(at(10)), new(at(20))
	s.have.object.Status.Conditions = condition("True", 20)
	got := statusFor(s.want, s.have)
	if since := got.Conditions[0].LastTransitionTime; !got.StartTime.Equal(new(at(10))) || !since.Equal(new(at(10))) {
		t.Errorf("got a pod that started at %s, and was ready at %s, want %s", got.StartTime, since, at(10))
	}
}

// Reports of a pod that the node has just taken over wait until it knows the pod.
func TestAnAdoptedPodIsReportedOnceItIsKnown(t *testing.T) {
	running := func(ip, id string, started int64) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "main", ContainerID: id, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Unix(started, 0)}},
		}}}
	}
	begun := running("10.0.0.1", "containerd://a", 1)
	unstarted := running("10.0.0.1", "containerd://a", 1)
	unstarted.ContainerStatuses[0].State.Running.StartedAt = metav1.Time{}
	for _, c := range []struct {
		name string
		now  corev1.PodStatus
		want bool
	}{
		{"nothing is known of it", corev1.PodStatus{Phase: corev1.PodPending}, true},
		{"its address is not", running("", "containerd://a", 1), true},
		{"its start is not", unstarted, true},
		{"another container runs", running("", "containerd://b", 1), false},
		{"it has another address", running("10.0.0.2", "containerd://a", 1), false},
	} {
		s := given(wanted("u1"), here("u1"))
		s.want.Status, s.have.object.Status = begun, c.now
		if got := s.reporting(); got.verb != report || got.canWait != c.want {
			t.Errorf("%s: the report is %+v, and can wait: %t, want %t", c.name, got.verb, got.canWait, c.want)
		}
	}
}
