package reconciler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/status"
)

// reportRefused adds an event for a new pod that the node refused.
func (r *Reconciler) reportRefused(pod *node.Pod) {
	if pod.Refused == nil {
		return
	}
	r.Events.Add(node.Event{
		Key: pod.Key(), UID: pod.UID(), Time: r.Act.Clock(), Warning: true,
		Reason: pod.Refused.Reason, Message: strings.TrimPrefix(pod.Refused.Message, "Pod was rejected: "), // which the status says
	})
}

// reportStatus adds events for what has become of a pod.
func (r *Reconciler) reportStatus(t *Tracked) {
	s := status.Of(r.Site, t.Slot(), t.Got())
	r.reportReady(t, s)
	r.reportBackOff(t, s)
	r.reportResize(t, s)
}

// reportBackOff adds an event for each run that has crashed and is followed by a pause, in the words of Kubernetes. Those of
// one container differ in nothing but their time, so that they are counted.
func (r *Reconciler) reportBackOff(t *Tracked, s corev1.PodStatus) {
	pod := t.Slot().Pod
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		if c.State.Waiting == nil || c.State.Waiting.Reason != node.CrashLoopBackOff || r.backedOff[t.Key][c.Name] == c.ContainerID {
			continue
		}
		if r.backedOff[t.Key] == nil {
			r.backedOff[t.Key] = map[string]string{}
		}
		r.backedOff[t.Key][c.Name] = c.ContainerID
		r.addEvent(pod, node.Event{Reason: "BackOff", Warning: true, Container: c.Name, Message: fmt.Sprintf(
			"Back-off restarting failed container %s in pod %s_%s(%s)", c.Name, pod.Object.Name, pod.Object.Namespace, pod.UID())})
	}
}

// reportReady adds an event when a pod becomes ready.
func (r *Reconciler) reportReady(t *Tracked, s corev1.PodStatus) {
	ready, since := false, time.Time{}
	for _, c := range s.Conditions {
		if c.Type == corev1.PodReady {
			ready, since = c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
		}
	}
	if ready && !r.wasReady[t.Key] && since.After(r.began) { // what was adopted was ready before
		pod := t.Slot().Pod
		r.addEvent(pod, node.Event{
			Reason: "Ready", Message: "all containers are ready", Took: r.Act.Clock().Sub(pod.Accepted),
		})
		r.Tracer.Ready(pod)
	}
	r.wasReady[t.Key] = ready
}

// reportBehind adds an event when a pod begins to wait for others that it starts after, and when what it waits for
// changes.
func (r *Reconciler) reportBehind(t *Tracked) {
	behind := t.Got().Behind
	text := node.Await(behind)
	if text != "" && text != r.wasBehind[t.Key] {
		r.addEvent(t.Slot().Pod, node.Event{
			Reason: node.WaitingForPods, Message: "it starts after " + text,
			Warning: slices.ContainsFunc(behind, func(u node.Unready) bool { return u.Stuck }),
		})
	}
	r.wasBehind[t.Key] = text
}

// announce returns the event for the begin of an action, if it has one.
func announce(a node.Action) (node.Event, bool) {
	news, ok := a.(interface{ Announce() (node.Event, bool) })
	if !ok {
		return node.Event{}, false
	}
	return news.Announce()
}

// report returns the event for the end of an action, if it has one.
func report(o Outcome) (node.Event, bool) {
	if o.Err != nil {
		return reportFailure(o)
	}
	news, ok := o.Action.(interface {
		Report(node.Result) (node.Event, bool)
	})
	if !ok {
		return node.Event{}, false
	}
	return news.Report(o.Result)
}

func reportFailure(o Outcome) (node.Event, bool) {
	if errors.Is(o.Err, context.Canceled) || errors.Is(o.Err, node.ErrNotFound) {
		return node.Event{}, false
	}
	if _, ok := o.Action.(node.EnsureImage); ok { // the puller adds events of its own
		return node.Event{}, false
	}
	e := failed(o.Err)
	e.Container = o.Action.About().Container
	return e, true
}

// failed returns the event for a failure, with Kubernetes' own reason where it has one, and its words for that before the
// message.
func failed(err error) node.Event {
	e := node.Event{Reason: "Failed", Warning: true, Message: "Error: " + err.Error()}
	if failure := failureOf(err); failure != nil {
		if words, own := kubernetesFailures[failure.Reason]; own {
			e.Reason, e.Message = failure.Reason, words+err.Error()
		}
	}
	return e
}

// kubernetesFailures are the failures with a reason of their own, and how their messages begin.
var kubernetesFailures = map[string]string{
	node.FailedCreateSandbox:   "Failed to create pod sandbox: ",
	node.NetworkNotReady:       "",
	node.FailedCreateCgroup:    "unable to ensure pod container exists: ",
	node.FailedKill:            "error killing pod: ",
	node.FailedMount:           "",
	node.FailedUnmount:         "",
	node.VolumeFailedDelete:    "",
	node.VolumeResizeFailed:    "",
	node.FailedPrepareClaims:   "Failed to prepare dynamic resources: ",
	node.FailedUnprepareClaims: "Failed to unprepare dynamic resources: ",
	node.FailedPostStart:       "PostStartHook failed: ",
	node.FailedPreStop:         "PreStopHook failed: ",
}
