package metrics

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// startBuckets are Kubernetes' buckets for the time that pods take to start.
func startBuckets() []float64 {
	return []float64{0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800,
		2700, 3600}
}

// startCounts measures how long pods of the API took until all their containers had
// started.
type startCounts struct {
	whole, own lasting
}

func newStartCounts() startCounts {
	return startCounts{
		whole: histogramOf("pod_start_total_duration_seconds",
			"Duration in seconds to start a pod since creation, including time to pull images and run init containers, "+
				"measured from pod creation timestamp to when all its containers are reported as started and observed via watch", startBuckets()),
		own: histogramOf("pod_start_sli_duration_seconds",
			"Duration in seconds to start a pod, excluding time to pull images and run init containers, "+
				"measured from pod creation timestamp to when all its containers are reported as started and observed via watch", startBuckets()),
	}
}

// span is a time in which a starting pod waits for something outside the node's control.
type span struct{ from, to time.Time }

// waits holds the spans of the starting pods, in the order in which they ended.
type waits map[types.UID][]span

// mostWaits bounds the spans of a pod. The last ones are kept, as an init container may fail
// for ever.
const mostWaits = 100

// add notes the pull or the init container that has ended with an event.
func (w waits) add(pod *corev1.Pod, e *node.Event) {
	if e.Took > 0 && (e.Reason == "Pulled" || node.InitContainer(&pod.Spec, e.Container) != nil) {
		all := append(w[e.UID], span{e.Time.Add(-e.Took), e.Time})
		w[e.UID] = all[max(0, len(all)-mostWaits):]
	}
}

// within returns how long a pod waited between two times. Overlapping spans count once.
func (w waits) within(uid types.UID, from, to time.Time) time.Duration {
	waited := time.Duration(0)
	for _, s := range slices.Backward(w[uid]) { // time after to is counted already
		if s.from.Before(from) {
			s.from = from
		}
		if s.to.Before(to) {
			to = s.to
		}
		if s.from.Before(to) {
			waited, to = waited+to.Sub(s.from), s.from
		}
	}
	return waited
}

// started counts a pod whose containers have all started.
func (c startCounts) started(pod *node.Pod, at time.Time, w waits) {
	if pod.Source != node.SourceAPI {
		return
	}
	took := max(0, at.Sub(pod.Accepted))
	c.whole.Observe(took.Seconds())
	if !stateful(pod.Object) {
		c.own.Observe((took - w.within(pod.UID(), pod.Accepted, at)).Seconds())
	}
}

// stateful reports whether a pod has volumes that outlive it. Kubernetes' objective for start
// times excludes such pods.
func stateful(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Secret == nil && v.ConfigMap == nil && v.DownwardAPI == nil && v.EmptyDir == nil && v.Projected == nil
	})
}
