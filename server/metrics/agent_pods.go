package metrics

import (
	"context"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// podCounts counts the pods and containers that start.
type podCounts struct {
	started, startFailed prometheus.Counter
	containers           *prometheus.CounterVec
	took                 lasting
}

func newPodCounts() podCounts {
	return podCounts{
		started:     count("started_pods_total", "Cumulative number of pods started"),
		startFailed: count("started_pods_errors_total", "Cumulative number of errors when starting pods"),
		containers:  counterVec("started_containers_total", "Cumulative number of containers started", "container_type"),
		took: histogramOf("pod_start_duration_seconds",
			"Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run",
			startBuckets()),
	}
}

// Events reads the node's events.
type Events interface {
	Changed() <-chan struct{}
	Since(revision int64, match func(*node.Event) bool) ([]node.Event, int64, error)
}

// Watch counts the containers in the node's events after a revision, until the context ends.
func (a *Agent) Watch(ctx context.Context, events Events, after int64, view func(node.Key) (store.View, bool)) {
	wanted := func(e *node.Event) bool {
		return slices.Contains([]string{"Started", "Removed", "Pulled", "Exited", fellBack}, e.Reason)
	}
	starting := map[types.UID]map[string]bool{} // containers that have started at least once, while others have not
	waited := waits{}
	at := after
	for {
		changed := events.Changed()
		found, now, err := events.Since(at, wanted)
		if err != nil { // too many at once: some were dropped and are not counted
			_, now, err = events.Since(0, wanted)
			a.forgetGone(starting, waited)
		}
		if err == nil { // otherwise the next change tries again
			at = now
		}
		for i := range found {
			a.happened(&found[i], view, starting, waited)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// fellBack is the reason of the event about a hook that asked for HTTPS and made do with HTTP.
const fellBack = "LifecycleHTTPFallback"

// forgetGone drops pods that are gone, in case the event of their removal was missed.
func (a *Agent) forgetGone(starting map[types.UID]map[string]bool, waited waits) {
	there := map[types.UID]bool{}
	views, _ := a.views()
	for _, v := range views {
		if v.Slot != nil && !v.Gone {
			there[v.Slot.Pod.UID()] = true
		}
	}
	maps.DeleteFunc(starting, func(uid types.UID, _ map[string]bool) bool { return !there[uid] })
	maps.DeleteFunc(waited, func(uid types.UID, _ []span) bool { return !there[uid] })
}

func (a *Agent) happened(
	e *node.Event, view func(node.Key) (store.View, bool), starting map[types.UID]map[string]bool, waited waits,
) {
	if e.Reason == fellBack {
		a.actions.fallbacks.Inc()
		return
	}
	if e.Reason == "Removed" {
		delete(starting, e.UID)
		delete(waited, e.UID)
		return
	}
	v, ok := view(e.Key)
	if !ok || v.Slot == nil || v.Slot.Pod.UID() != e.UID {
		return
	}
	pod, accepted := v.Slot.Pod.Object, v.Slot.Pod.Accepted
	if e.Reason != "Started" {
		if !accepted.Before(a.began) && !running(pod, starting[e.UID]) {
			waited.add(pod, e)
		}
		return
	}
	a.pods.containers.WithLabelValues(containerType(pod, e.Container)).Inc()
	if starting[e.UID] == nil {
		starting[e.UID] = map[string]bool{}
	}
	before := running(pod, starting[e.UID])
	starting[e.UID][e.Container] = true
	// For a pod from before this process, the first start of its containers is unknown.
	if !before && running(pod, starting[e.UID]) && !accepted.Before(a.began) {
		a.pods.took.Observe(max(0, e.Time.Sub(accepted)).Seconds())
		a.starts.started(v.Slot.Pod, e.Time, waited)
		delete(waited, e.UID)
	}
}

// running reports whether all containers of a pod have started.
func running(pod *corev1.Pod, started map[string]bool) bool {
	return !slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return !started[c.Name] })
}

func containerType(pod *corev1.Pod, name string) string {
	switch {
	case slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == name }):
		return "init_container"
	case slices.ContainsFunc(pod.Spec.EphemeralContainers,
		func(c corev1.EphemeralContainer) bool { return c.Name == name }):
		return "ephemeral_container"
	}
	return "container"
}

// present counts the present pods.
type present struct {
	views                                                   func() ([]store.View, int64)
	runningPods, runningContainers, desiredPods, activePods *prometheus.Desc
}

var _ prometheus.Collector = present{}

func newPresent(views func() ([]store.View, int64)) present {
	return present{
		views:             views,
		runningPods:       describe("running_pods", "Number of pods that have a running pod sandbox"),
		runningContainers: describe("running_containers", "Number of containers currently running", "container_state"),
		desiredPods: describe("desired_pods",
			"The number of pods the kubelet is being instructed to run. static is true if the pod is not from the apiserver.",
			"static"),
		activePods: describe("active_pods",
			"The number of pods the kubelet considers active and which are being considered when admitting new pods. static is true if the pod is not from the apiserver.", "static"),
	}
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("kubelet_"+name, alpha+help, labels, nil)
}

// Describe sends the families.
func (p present) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{p.runningPods, p.runningContainers, p.desiredPods, p.activePods} {
		to <- d
	}
}

// Collect counts pods and containers by their states.
func (p present) Collect(to chan<- prometheus.Metric) {
	views, _ := p.views()
	pods := 0
	containers := map[string]int{"created": 0, "running": 0, "exited": 0, "unknown": 0}
	desired, active := map[string]int{"": 0, "true": 0}, map[string]int{"": 0, "true": 0}
	for _, v := range views {
		if v.Slot != nil && !v.Gone {
			static := ""
			if v.Slot.Pod.Source != node.SourceAPI {
				static = "true"
			}
			desired[static]++
			if v.Slot.Result == nil {
				active[static]++
			}
		}
		if v.Got == nil {
			continue
		}
		if slices.ContainsFunc(v.Got.Sandboxes, func(s node.Sandbox) bool { return s.State == node.SandboxReady }) {
			pods++
		}
		for i := range v.Got.Containers {
			containers[v.Got.Containers[i].State.String()]++
		}
	}
	count := func(d *prometheus.Desc, value int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	count(p.runningPods, pods)
	for state, n := range containers {
		count(p.runningContainers, n, state)
	}
	for _, static := range []string{"", "true"} {
		count(p.desiredPods, desired[static], static)
		count(p.activePods, active[static], static)
	}
}
