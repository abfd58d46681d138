package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func waiting(reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
}

func ended(t corev1.ContainerStateTerminated) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &t}}
}

func runs(ready bool) corev1.ContainerStatus {
	return corev1.ContainerStatus{Ready: ready, Started: &ready, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
}

func TestStandingIsInKubectlsWords(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	now := metav1.Now()
	completed := ended(corev1.ContainerStateTerminated{Reason: "Completed"})
	two := corev1.PodSpec{InitContainers: []corev1.Container{{Name: "first"}, {Name: "beside", RestartPolicy: &always}}}
	inits := func(all ...corev1.ContainerStatus) corev1.Pod {
		return corev1.Pod{Spec: two, Status: corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: all}}
	}
	mains := func(all ...corev1.ContainerStatus) corev1.Pod {
		return corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: all}}
	}
	isReady := mains(completed, runs(true))
	isReady.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	ends := mains(runs(true))
	ends.DeletionTimestamp = &now
	hasEnded := corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}, Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}
	for _, c := range []struct {
		name string
		pod  corev1.Pod
		want string
	}{
		{"a phase", corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}}, "Pending"},
		{"a reason", corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}}, "Evicted"},
		{"what a container waits for", mains(waiting("CrashLoopBackOff")), "CrashLoopBackOff"},
		{"the first container that is not well", mains(waiting("ImagePullBackOff"), waiting("CrashLoopBackOff")), "ImagePullBackOff"},
		{"an end", mains(ended(corev1.ContainerStateTerminated{Reason: "OOMKilled"})), "OOMKilled"},
		{"an end without a reason", mains(ended(corev1.ContainerStateTerminated{ExitCode: 3})), "ExitCode:3"},
		{"an end by a signal", mains(ended(corev1.ContainerStateTerminated{ExitCode: 137, Signal: 9})), "Signal:9"},
		{"one has ended, one runs", isReady, "Running"},
		{"one has ended, one runs, and the pod is not ready", mains(completed, runs(true)), "NotReady"},
		{"the first init container", inits(runs(false)), "Init:0/2"},
		{"the sidecar after it", inits(completed, runs(false)), "Init:1/2"},
		{"an init container that failed", inits(ended(corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"})), "Init:Error"},
		{"an init container that waits", inits(waiting("ErrImagePull")), "Init:ErrImagePull"},
		{"all init containers are done", inits(completed, runs(true)), "Pending"},
		{"a pod that ends", ends, "Terminating"},
		{"a pod that has ended and is deleted", hasEnded, "Succeeded"},
	} {
		if got := standing(&c.pod); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
