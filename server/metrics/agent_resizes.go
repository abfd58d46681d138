package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
	"nodal/node/store"
)

// resizeCounts counts changes of the resources of running pods.
type resizeCounts struct {
	asked, infeasible, accepted *prometheus.CounterVec
	took                        *prometheus.HistogramVec
	pending, working            *prometheus.Desc
	views                       func() ([]store.View, int64)
	works                       *func(store.View) bool
}

var _ prometheus.Collector = resizeCounts{}

func newResizeCounts(views func() ([]store.View, int64)) resizeCounts {
	return resizeCounts{
		asked: counterVec("container_requested_resizes_total",
			"Number of requested resizes, counted at the container level. Different resources on the same container are counted separately. "+
				"The 'requirement' label refers to 'memory' or 'limits'; the 'operation' label can be one of 'add', 'remove', 'increase' or 'decrease'.",
			"resource", "requirement", "operation"),
		infeasible: counterVec("pod_infeasible_resizes_total", "Number of infeasible resizes for pods.", "reason_detail"),
		accepted: counterVec("pod_deferred_accepted_resizes_total",
			"Cumulative number of resizes that were accepted after being deferred.", "retry_trigger"),
		took: histogramVec("pod_resize_duration_milliseconds", "Duration in milliseconds to actuate a pod resize",
			prometheus.ExponentialBuckets(10, 2, 15), "success"),
		pending: describe("pod_pending_resizes", "Number of pending resizes for pods.", "reason"),
		working: describe("pod_in_progress_resizes", "Number of in-progress resizes for pods."),
		views:   views, works: new(func(store.View) bool),
	}
}

// Resizing tells how to find out whether a pod is being resized.
func (a *Agent) Resizing(works func(store.View) bool) { *a.resizes.works = works }

// Resized counts a resize that was made, or one that fails.
func (a *Agent) Resized(took time.Duration, made bool) {
	success := "false"
	if made {
		success = "true"
	}
	a.resizes.took.WithLabelValues(success).Observe(float64(took.Microseconds()) / 1000)
}

// Changed counts the resizes in a change of a pod. freed is Kubernetes' word for what has made room for the pod, if it had
// waited.
func (a *Agent) Changed(before, now *node.Pod, freed string) {
	if before.Object != now.Object {
		a.resizes.request(before.Object, now.Object)
	}
	switch {
	case now.Resize == before.Resize:
	case now.Resize == nil && before.Resize.Reason == corev1.PodReasonDeferred:
		if !now.Resized.Equal(before.Resized) {
			a.resizes.accepted.WithLabelValues(freed).Inc()
		}
	case now.Resize != nil && now.Resize.Reason == corev1.PodReasonInfeasible:
		a.resizes.infeasible.WithLabelValues(detail(now.Resize.Lack)).Inc()
	}
}

// request counts which amounts of which containers have changed.
func (c resizeCounts) request(before, now *corev1.Pod) {
	had := node.ResourcesOf(before)
	for name, wants := range node.ResourcesOf(now) {
		has, there := had[name]
		if name == "" || !there { // the pod as a whole is not counted
			continue
		}
		for _, of := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			for requirement, lists := range map[string][2]corev1.ResourceList{
				"requests": {has.Requests, wants.Requests}, "limits": {has.Limits, wants.Limits},
			} {
				if word := operation(lists[0][of], lists[1][of]); word != "" {
					c.asked.WithLabelValues(string(of), requirement, word).Inc()
				}
			}
		}
	}
}

// operation returns Kubernetes' word for a change of an amount, or "" if it is the same. Zero stands for none.
func operation(before, now resource.Quantity) string {
	switch change := now.Cmp(before); {
	case change == 0:
		return ""
	case before.IsZero():
		return "add"
	case now.IsZero():
		return "remove"
	case change < 0:
		return "decrease"
	}
	return "increase"
}

// detail returns Kubernetes' word for what stands in the way of a resize for good.
func detail(lack node.Lack) string {
	switch lack {
	case node.LackCPUs:
		return "guaranteed_pod_cpu_manager_static_policy"
	case node.LackMemory:
		return "guaranteed_pod_memory_manager_static_policy"
	case node.LackSwap:
		return "swap_limitation"
	}
	return "insufficient_node_allocatable"
}

// Describe sends the families that are counted at each scrape.
func (c resizeCounts) Describe(to chan<- *prometheus.Desc) {
	to <- c.pending
	to <- c.working
}

// Collect counts the pods whose resources change, or shall change.
func (c resizeCounts) Collect(to chan<- prometheus.Metric) {
	pending, working := map[string]int{}, 0
	views, _ := c.views()
	for _, v := range views {
		switch {
		case v.Gone || v.Slot == nil:
		case v.Slot.Pod.Resize != nil:
			pending[strings.ToLower(v.Slot.Pod.Resize.Reason)]++
		case *c.works != nil && !v.Slot.Pod.Resized.IsZero() && (*c.works)(v):
			working++
		}
	}
	for reason, n := range pending {
		to <- prometheus.MustNewConstMetric(c.pending, prometheus.GaugeValue, float64(n), reason)
	}
	to <- prometheus.MustNewConstMetric(c.working, prometheus.GaugeValue, float64(working))
}
