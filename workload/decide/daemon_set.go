package decide

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"nodal/node"
)

// daemon is a DaemonSet on this node, which has one pod of it or none.
type daemon struct {
	*circle
	of   *appsv1.DaemonSet
	mark string // of the present template
	pods []*corev1.Pod
	runs bool // the node is one of those that the set wants a pod on
}

// daemonSet has the node run the pod of a DaemonSet if it is one of those that the set wants a pod on.
func (c *circle) daemonSet(of *appsv1.DaemonSet) {
	if c.goes(of) {
		return
	}
	h := c.historyOf(of, of.Spec.Selector, appsv1.ControllerRevisionHashLabelKey)
	d := &daemon{circle: c, of: of, pods: c.podsOf(of, node.DaemonSet, of.Spec.Selector)}
	slices.SortStableFunc(d.pods, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	stays := false
	d.runs, stays = placed(node.NewObject(of).Copy(), c.Node)
	if h.present != nil {
		d.mark = h.present.Labels[h.mark]
		d.fit(stays)
		h.forget(of.Spec.RevisionHistoryLimit, func(r *appsv1.ControllerRevision) bool {
			return slices.ContainsFunc(d.pods, func(p *corev1.Pod) bool { return markOf(p) == r.Labels[h.mark] })
		})
	}
	d.putStatus()
}

func markOf(p *corev1.Pod) string { return p.Labels[appsv1.ControllerRevisionHashLabelKey] }

// silent discards the library's log of tolerations with malformed numbers.
var silent klog.Logger

// placed reports whether a daemon's pod belongs on a node, and whether it may stay there if it runs already.
func placed(pod *corev1.Pod, on *corev1.Node) (runs, stays bool) {
	tolerate(&pod.Spec)
	if name := pod.Spec.NodeName; name != "" && name != on.Name {
		return false, false
	}
	if fits, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(on); !fits || err != nil {
		return false, false
	}
	bars := func(effects ...corev1.TaintEffect) bool {
		_, found := scheduling.FindMatchingUntoleratedTaint(silent, on.Spec.Taints, pod.Spec.Tolerations, func(t *corev1.Taint) bool {
			return slices.Contains(effects, t.Effect)
		}, true)
		return found
	}
	return !bars(corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute), !bars(corev1.TaintEffectNoExecute)
}

// tolerate adds the tolerations that Kubernetes gives the pods of a DaemonSet: they run on a node that others are kept from.
func tolerate(spec *corev1.PodSpec) {
	for _, t := range []corev1.Toleration{
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute}, {Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeDiskPressure, Effect: corev1.TaintEffectNoSchedule}, {Key: corev1.TaintNodeMemoryPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodePIDPressure, Effect: corev1.TaintEffectNoSchedule}, {Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule},
	} {
		t.Operator = corev1.TolerationOpExists
		if t.Key == corev1.TaintNodeNetworkUnavailable && !spec.HostNetwork || slices.Contains(spec.Tolerations, t) {
			continue
		}
		spec.Tolerations = append(spec.Tolerations, t)
	}
}

// fit brings the pods of the set to what it wants of this node.
func (d *daemon) fit(stays bool) {
	running := where(d.pods, active)
	if !d.runs && !stays {
		d.end(running)
		return
	}
	present := where(running, func(p *corev1.Pod) bool { return markOf(p) == d.mark })
	past := where(running, func(p *corev1.Pod) bool { return markOf(p) != d.mark })
	// There is at most one of each.
	d.end(present[min(1, len(present)):])
	d.end(past[min(1, len(past)):])
	present, past = present[:min(1, len(present))], past[:min(1, len(past))]
	recent, _ := d.replaceFailed(d.pods, 1)
	switch {
	case len(past) == 0:
		if d.runs && len(running) == 0 && recent == 0 && !slices.ContainsFunc(d.pods, func(p *corev1.Pod) bool { return !ended(p) }) {
			d.make()
		}
	case d.of.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType:
		d.end(present)
	case d.surge() == 0:
		d.end(past)
	case len(present) > 0:
		if !ready(past[0]) || d.available(present[0], d.of.Spec.MinReadySeconds) {
			d.end(past)
		}
	case !d.runs:
		if !d.available(past[0], d.of.Spec.MinReadySeconds) {
			d.end(past) // none takes its place
		}
	case recent == 0:
		d.make()
	}
}

// surge returns how many pods there may be beside the old one.
func (d *daemon) surge() int {
	if rolling := d.of.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		return shareOf(rolling.MaxSurge, 1, true)
	}
	return 0
}

func (d *daemon) end(pods []*corev1.Pod) {
	for _, p := range pods {
		d.plan.add(Change{Do: DeletePod, Pod: p})
	}
}

func (d *daemon) make() {
	pod := d.podOf(d.of, d.of.Name+"-")
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = d.mark // a template without labels is not selected
	tolerate(&pod.Spec)
	d.makePod(d.of, pod)
}

func (d *daemon) putStatus() {
	next := d.of.DeepCopy()
	next.Status = appsv1.DaemonSetStatus{
		ObservedGeneration: d.of.Generation, CollisionCount: d.of.Status.CollisionCount, Conditions: d.of.Status.Conditions,
		DesiredNumberScheduled: count(d.runs),
	}
	s := &next.Status
	if running := where(d.pods, active); !d.runs {
		s.NumberMisscheduled = count(len(running) > 0)
	} else if len(running) > 0 {
		oldest := running[0]
		s.CurrentNumberScheduled = 1
		s.NumberReady = count(ready(oldest))
		s.NumberAvailable = count(d.available(oldest, d.of.Spec.MinReadySeconds))
		s.UpdatedNumberScheduled = count(markOf(oldest) == d.mark)
	}
	s.NumberUnavailable = s.DesiredNumberScheduled - s.NumberAvailable
	if !apiequality.Semantic.DeepEqual(d.of.Status, next.Status) {
		d.plan.add(Change{Do: PutStatus, Value: next})
	}
}
