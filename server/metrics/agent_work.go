package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"nodal/node"
	"nodal/node/store"
)

// workCounts counts the agent's work for pods, and its looks at the runtime.
type workCounts struct {
	took                          *prometheus.HistogramVec
	relistTook, relistEvery       lasting
	relisted                      prometheus.Gauge
	looked                        *atomic.Int64 // the time of the last look at the whole runtime
	heard, unheard                prometheus.Counter
	evicted, preempted, collected *prometheus.CounterVec
	evictionAge                   *prometheus.HistogramVec
	sweptVolumes, unsweptVolumes  prometheus.Gauge
}

func newWorkCounts() workCounts {
	return workCounts{
		took: histogramVec("pod_worker_duration_seconds",
			"Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync",
			prometheus.DefBuckets, "operation_type"),
		relistTook: histogramOf("pleg_relist_duration_seconds", "Duration in seconds for relisting pods in PLEG.",
			prometheus.DefBuckets),
		relistEvery: histogramOf("pleg_relist_interval_seconds", "Interval in seconds between relisting in PLEG.",
			prometheus.DefBuckets),
		relisted: gauged("pleg_last_seen_seconds", "Timestamp in seconds when PLEG was last seen active."),
		looked:   new(atomic.Int64),
		heard: count("evented_pleg_connection_success_count",
			"The number of times a streaming client was obtained to receive CRI Events."),
		unheard: count("evented_pleg_connection_error_count",
			"The number of errors encountered during the establishment of streaming connection with the CRI runtime."),
		evicted: counterVec("evictions", "Cumulative number of pod evictions by eviction signal", "eviction_signal"),
		evictionAge: histogramVec("eviction_stats_age_seconds",
			"Time between when stats are collected, and when pod is evicted based on those stats by eviction signal",
			prometheus.DefBuckets, "eviction_signal"),
		preempted: counterVec("preemptions", "Cumulative number of pod preemptions by preemption resource",
			"preemption_signal"),
		collected: counterVec("image_garbage_collected_total",
			"Total number of images garbage collected by the kubelet, whether through disk usage or image age.", "reason"),
		sweptVolumes: gauged("orphan_pod_cleaned_volumes",
			"The total number of orphaned Pods whose volumes were cleaned in the last periodic sweep."),
		unsweptVolumes: gauged("orphan_pod_cleaned_volumes_errors",
			"The number of orphaned Pods whose volumes failed to be cleaned in the last periodic sweep."),
	}
}

func (c workCounts) all() []prometheus.Collector {
	return []prometheus.Collector{
		c.took, c.relistTook, c.relistEvery, c.relisted, c.heard, c.unheard, c.evicted, c.evictionAge, c.preempted, c.collected, c.sweptVolumes, c.unsweptVolumes,
	}
}

// Worked counts a pod for which nothing is left to do.
func (a *Agent) Worked(operation string, took time.Duration) {
	a.work.took.WithLabelValues(operation).Observe(took.Seconds())
}

// Relisted counts a look at all pods in the runtime.
func (a *Agent) Relisted(began time.Time, took time.Duration, err error) {
	a.work.relistTook.Observe(took.Seconds())
	if last := a.work.looked.Swap(began.UnixNano()); last > 0 {
		a.work.relistEvery.Observe(max(0, time.Duration(began.UnixNano()-last)).Seconds())
	}
	if err == nil {
		a.work.relisted.Set(float64(began.Unix()))
	}
}

// Listened counts an attempt to watch the runtime's events, by its result.
func (a *Agent) Listened(err error) {
	if err != nil {
		a.work.unheard.Inc()
		return
	}
	a.work.heard.Inc()
}

// Evicted counts a pod that was over a limit.
func (a *Agent) Evicted(limit string) { a.work.evicted.WithLabelValues(limit).Inc() }

// Relieved counts a pod that was evicted because the node ran short, with the age of the figures that showed it.
func (a *Agent) Relieved(signal string, age time.Duration) {
	a.work.evicted.WithLabelValues(signal).Inc()
	a.work.evictionAge.WithLabelValues(signal).Observe(age.Seconds())
}

// Preempted counts a pod that ended because a critical pod lacked a resource.
func (a *Agent) Preempted(lack string) { a.work.preempted.WithLabelValues(lack).Inc() }

// Collected counts a removed image, by the rule of the policy that removed it.
func (a *Agent) Collected(cause string) { a.work.collected.WithLabelValues(cause).Inc() }

// Swept counts removed and remaining volumes of unknown pods.
func (a *Agent) Swept(removed, failed int) {
	a.work.sweptVolumes.Set(float64(removed))
	a.work.unsweptVolumes.Set(float64(failed))
}

// stages counts pods by how far they have come.
type stages struct {
	views                       func() ([]store.View, int64)
	cluster                     *atomic.Bool
	working, mirrors, ephemeral *prometheus.Desc
}

var _ prometheus.Collector = stages{}

func newStages(views func() ([]store.View, int64), cluster *atomic.Bool) stages {
	return stages{
		views: views, cluster: cluster,
		working: describe("working_pods",
			"Number of pods the kubelet is actually running, broken down by lifecycle phase, whether the pod is desired, orphaned, "+
				"or runtime only (also orphaned), and whether the pod is static. An orphaned pod has been removed from local configuration or force deleted in the API "+
				"and consumes resources that are not otherwise visible.", "lifecycle", "config", "static"),
		mirrors: describe("mirror_pods",
			"The number of mirror pods the kubelet will try to create (one per admitted static pod)"),
		ephemeral: describe("managed_ephemeral_containers",
			"Current number of ephemeral containers in pods managed by this kubelet."),
	}
}

// Describe sends the families.
func (s stages) Describe(to chan<- *prometheus.Desc) {
	to <- s.working
	to <- s.mirrors
	to <- s.ephemeral
}

// stage is a set of pods that Kubernetes counts in one metric.
type stage struct{ lifecycle, config, static string }

func stageOf(slot *node.Slot) stage {
	s := stage{"sync", "desired", ""}
	pod := slot.Pod
	switch {
	case pod.Source == node.SourceRuntime:
		s.config, s.static = "runtime_only", "unknown"
	case pod.Source != node.SourceAPI:
		s.static = "true"
		if pod.Deletion != nil {
			s.config = "orphan"
		}
	}
	switch {
	case slot.Result != nil:
		s.lifecycle = "terminated"
	case slot.Termination != nil || pod.Deletion != nil:
		s.lifecycle = "terminating"
	}
	return s
}

// Collect counts pods by their stage. As in Kubernetes, a stage without pods has a line too,
// with 0.
func (s stages) Collect(to chan<- prometheus.Metric) {
	counts := map[stage]int{}
	for _, lifecycle := range []string{"sync", "terminating", "terminated"} {
		counts[stage{lifecycle, "runtime_only", "unknown"}] = 0
		for _, config := range []string{"desired", "orphan"} {
			counts[stage{lifecycle, config, ""}], counts[stage{lifecycle, config, "true"}] = 0, 0
		}
	}
	mirrors, ephemeral := 0, 0
	views, _ := s.views()
	for _, v := range views {
		if v.Gone || v.Slot == nil {
			continue
		}
		of := stageOf(v.Slot)
		counts[of]++
		ephemeral += len(v.Slot.Pod.Object.Spec.EphemeralContainers)
		if s.cluster.Load() && of.static == "true" && of.config == "desired" && v.Slot.Pod.Refused == nil {
			mirrors++
		}
	}
	for of, n := range counts {
		to <- prometheus.MustNewConstMetric(s.working, prometheus.GaugeValue, float64(n), of.lifecycle, of.config, of.static)
	}
	to <- prometheus.MustNewConstMetric(s.mirrors, prometheus.GaugeValue, float64(mirrors))
	to <- prometheus.MustNewConstMetric(s.ephemeral, prometheus.GaugeValue, float64(ephemeral))
}
