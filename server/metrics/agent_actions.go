package metrics

import (
	"errors"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// actionCounts counts what was done for pods, apart from the calls to the container runtime.
type actionCounts struct {
	cgroups                                 *prometheus.HistogramVec
	containersFailed                        *prometheus.CounterVec
	ownUsers, ownUsersFailed                prometheus.Counter
	imagesWanted, imagesMounted, imagesLost prometheus.Counter
	fallbacks, sleepsCut                    prometheus.Counter
}

func newActionCounts() actionCounts {
	beta := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "kubelet_" + name, Help: "[BETA] " + help})
	}
	return actionCounts{
		cgroups: histogramVec("cgroup_manager_duration_seconds",
			"Duration in seconds for cgroup manager operations. Broken down by method.", prometheus.DefBuckets, "operation_type"),
		containersFailed: counterVec("started_containers_errors_total",
			"Cumulative number of errors when starting containers", "container_type", "code"),
		ownUsers: count("started_user_namespaced_pods_total",
			"Cumulative number of pods with user namespaces started. This metric will only be collected on Linux."),
		ownUsersFailed: count("started_user_namespaced_pods_errors_total",
			"Cumulative number of errors when starting pods with user namespaces. This metric will only be collected on Linux."),
		imagesWanted:  beta("image_volume_requested_total", "Number of requested image volumes."),
		imagesMounted: beta("image_volume_mounted_succeed_total", "Number of successful image volume mounts."),
		imagesLost:    beta("image_volume_mounted_errors_total", "Number of failed image volume mounts."),
		fallbacks: count("lifecycle_handler_http_fallbacks_total",
			"The number of times lifecycle handlers successfully fell back to http from https."),
		sleepsCut: count("sleep_action_terminated_early_total",
			"The number of times lifecycle sleep handler got terminated before it finishes"),
	}
}

func (c actionCounts) all() []prometheus.Collector {
	return []prometheus.Collector{
		c.cgroups, c.containersFailed, c.ownUsers, c.ownUsersFailed, c.imagesWanted, c.imagesMounted, c.imagesLost, c.fallbacks, c.sleepsCut,
	}
}

// Did counts an action for a pod that has ended.
func (a *Agent) Did(pod *node.Pod, got *node.Observed, action node.Action, took time.Duration, err error) {
	c := a.actions
	switch action := action.(type) {
	case node.SetUp:
		switch {
		case action.Facility == node.Volumes:
			a.volumes.did("volume_mount", a.volumes.pluginOf(pod, action.Name), took, err)
		case action.Facility != node.Cgroup:
		case got == nil || got.Home(pod.UID()) == nil:
			c.cgroups.WithLabelValues("create").Observe(took.Seconds())
		default:
			c.cgroups.WithLabelValues("update").Observe(took.Seconds())
		}
	case node.TearDown:
		switch action.Facility {
		case node.Cgroup:
			c.cgroups.WithLabelValues("destroy").Observe(took.Seconds())
		case node.Volumes: // all at once
			for i := range pod.Object.Spec.Volumes {
				a.volumes.did("volume_unmount", a.volumes.pluginOf(pod, pod.Object.Spec.Volumes[i].Name), took, err)
			}
		}
	case node.RunSandbox:
		if node.HasOwnUsers(pod.Object) {
			either(err, c.ownUsers, c.ownUsersFailed).Inc()
		}
	case node.EnsureImage:
		if action.Volume != "" {
			c.imagesWanted.Inc()
			return
		}
		c.failed(pod, action.Container, err)
	case node.CreateContainer:
		either(err, c.imagesMounted, c.imagesLost).Add(float64(imageMounts(pod.Object, action.Container)))
		c.failed(pod, action.Container, err)
	case node.StartContainer:
		c.failed(pod, action.Container, err)
	case node.RunHook:
		if action.Kind == node.PostStart {
			c.failed(pod, action.Container, err)
		}
		if action.Spec != nil && action.Spec.Sleep != nil && err != nil {
			c.sleepsCut.Inc()
		}
	}
}

func either(err error, well, badly prometheus.Counter) prometheus.Counter {
	if err != nil {
		return badly
	}
	return well
}

// failed counts a container that could not be started. A call without an answer is none: the container is looked for.
func (c actionCounts) failed(pod *node.Pod, container string, err error) {
	var failure *node.Failure
	if errors.As(err, &failure) {
		c.containersFailed.WithLabelValues(containerType(pod.Object, container), failure.Reason).Inc()
	}
}

// imageMounts counts the mounts of a container that are images.
func imageMounts(pod *corev1.Pod, name string) (mounts int) {
	for c := range node.EveryContainer(&pod.Spec) {
		if c.Name != name {
			continue
		}
		for _, m := range c.VolumeMounts {
			if slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name && v.Image != nil }) {
				mounts++
			}
		}
	}
	return mounts
}
