package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"

	"nodal/test/pace"
)

// wait watches the pods until the named one satisfies holds, and returns it.
func (n *node) wait(name, wanted string, holds func(*corev1.Pod) bool) *corev1.Pod {
	n.t.Helper()
	var last *corev1.Pod
	n.watch(wanted, func(m *nodev1.WatchPodsResponse) bool {
		if m.GetPod().GetName() != name || m.GetType() == nodev1.WatchType_WATCH_TYPE_DELETED {
			return false
		}
		last = n.object(m.GetPod())
		return holds(last)
	}, func() any { return last })
	return last
}

// waitGone watches until no pod has the name.
func (n *node) waitGone(name string) {
	n.t.Helper()
	present := false
	n.watch("pod "+name+" gone", func(m *nodev1.WatchPodsResponse) bool {
		switch {
		case m.GetType() == nodev1.WatchType_WATCH_TYPE_SYNCED:
			return !present
		case m.GetPod().GetName() == name:
			present = m.GetType() != nodev1.WatchType_WATCH_TYPE_DELETED
			return !present
		}
		return false
	}, func() any { return nil })
}

// watch reads a watch until done returns true.
func (n *node) watch(wanted string, done func(*nodev1.WatchPodsResponse) bool, state func() any) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), pace.Of(patience))
	defer cancel()
	stream, err := n.pods.WatchPods(ctx, &nodev1.WatchPodsRequest{})
	if err != nil {
		n.t.Fatalf("watch pods: %v", err)
	}
	for {
		message, err := stream.Recv()
		if err != nil {
			n.t.Fatalf("wait for %s: %v; the last state was %s", wanted, err, n.jsonOf(state()))
		}
		if done(message) {
			return
		}
	}
}

// object returns the Kubernetes object of a pod in the API.
func (n *node) object(pod *nodev1.Pod) *corev1.Pod {
	n.t.Helper()
	data, err := pod.GetObject().MarshalJSON()
	if err != nil {
		n.t.Fatal(err)
	}
	object := &corev1.Pod{}
	if err := json.Unmarshal(data, object); err != nil {
		n.t.Fatal(err)
	}
	return object
}

func (n *node) waitRunning(name string) *corev1.Pod {
	n.t.Helper()
	return n.wait(name, "pod "+name+" ready", ready)
}

// waitHeedless waits until a pod's program handles SIGTERM: before that, SIGTERM ends it at once.
func (n *node) waitHeedless(name string) {
	n.t.Helper()
	n.waitRunning(name)
	n.eventually(name+" to have its handlers", func() bool {
		return strings.Contains(n.curl("/containerLogs/default/"+name+"/main").body, "ready")
	})
}

func ready(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && condition(p, corev1.PodReady) == corev1.ConditionTrue
}

func condition(p *corev1.Pod, kind corev1.PodConditionType) corev1.ConditionStatus {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return ""
}

// containerStatus returns the status of one container of any kind.
func containerStatus(p *corev1.Pod, name string) corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses} {
		for _, s := range list {
			if s.Name == name {
				return s
			}
		}
	}
	return corev1.ContainerStatus{}
}

// eventually polls a condition that has no watch, such as the runtime's lists and processes.
func (n *node) eventually(wanted string, holds func() bool) {
	n.t.Helper()
	deadline := time.NewTimer(pace.Of(patience))
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			n.t.Fatalf("waited %s in vain for %s", pace.Of(patience), wanted)
		}
	}
}
