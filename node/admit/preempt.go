package admit

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resources "k8s.io/component-helpers/resource"

	"nodal/node"
	"nodal/node/limit"
)

// Rival is a pod beside which another one is to run.
type Rival struct {
	*node.Pod
	Ending bool // it ends already
	Stays  bool // it is never preempted
}

// Objects returns the rivals' pods with the resources that they have now.
func Objects(rivals []Rival) []*corev1.Pod {
	objects := make([]*corev1.Pod, len(rivals))
	for i, r := range rivals {
		objects[i] = r.Allocated()
	}
	return objects
}

// Preempt chooses the pods whose end makes room for a critical pod that was refused for a lack of
// resources, and returns the first resource that it lacks. It chooses none if the pod was refused
// for another reason, or if no choice would help.
//
// Pods that end already come first. Kubernetes' order follows: best-effort, burstable and
// guaranteed pods. Of each class it takes as few as possible, with requests as close as possible to
// what is missing. A host port is waited for if its holder ends already; no other pod ends for it.
func (n Node) Preempt(pod *node.Pod, rivals []Rival) (chosen []Rival, lack corev1.ResourceName) {
	if !Critical(pod) {
		return nil, ""
	}
	chosen, rivals = leaving(pod.Object, rivals)
	all := Objects(rivals)
	missing := n.shortages(pod.Object, all)
	if len(chosen)+len(missing) == 0 || ports(pod.Object, all) != nil {
		return nil, ""
	}
	classes := map[corev1.PodQOSClass][]Rival{}
	var stay []Rival
	for _, r := range rivals {
		switch {
		case r.Ending:
			classes[ending] = append(classes[ending], r)
		case !r.Stays && yields(r.Pod, pod):
			class := limit.Class(r.Object)
			classes[class] = append(classes[class], r)
		default:
			stay = append(stay, r)
		}
	}
	if n.Check(pod.Object, Objects(stay)) != nil {
		return nil, ""
	}
	// Pods of a class go only if it is not enough that all of the cheaper classes go.
	for _, class := range []corev1.PodQOSClass{corev1.PodQOSGuaranteed, corev1.PodQOSBurstable, corev1.PodQOSBestEffort, ending} {
		gone, kept := n.spare(pod.Object, classes[class], stay)
		chosen, stay = append(chosen, gone...), kept
	}
	if len(missing) > 0 {
		lack = missing[0].name
	}
	return chosen, lack
}

// leaving splits off the rivals that end and hold a host port of the pod until then.
func leaving(pod *corev1.Pod, rivals []Rival) (those, others []Rival) {
	for _, r := range rivals {
		if r.Ending && ports(pod, []*corev1.Pod{r.Object}) != nil {
			those = append(those, r)
		} else {
			others = append(others, r)
		}
	}
	return those, others
}

// ending is the class of the rivals that end already.
const ending corev1.PodQOSClass = ""

// spare chooses from a class the pods that have to go for a pod. It returns the others together
// with those that stay.
func (n Node) spare(pod *corev1.Pod, class, stay []Rival) (gone, kept []Rival) {
	class = slices.Clone(class)
	for {
		missing := n.shortages(pod, Objects(slices.Concat(stay, class)))
		if len(missing) == 0 {
			break
		}
		next := slices.MinFunc(class, func(a, b Rival) int { return closest(missing, a, b) })
		gone = append(gone, next)
		class = slices.DeleteFunc(class, func(r Rival) bool { return r.Pod == next.Pod })
	}
	kept = slices.Concat(stay, class)
	// A later choice may have been enough without an earlier one.
	gone = slices.DeleteFunc(gone, func(r Rival) bool {
		with := append(slices.Clip(kept), r)
		if len(n.shortages(pod, Objects(with))) > 0 {
			return false
		}
		kept = with
		return true
	})
	return gone, kept
}

// closest orders candidates by the shortage that remains after evicting them, then by size.
func closest(missing []shortage, a, b Rival) int {
	return cmp.Or(
		cmp.Compare(distance(missing, a), distance(missing, b)),
		cmp.Compare(requests(a, corev1.ResourceMemory), requests(b, corev1.ResourceMemory)),
		cmp.Compare(requests(a, corev1.ResourceCPU), requests(b, corev1.ResourceCPU)),
		cmp.Compare(a.Key().String(), b.Key().String()),
	)
}

// distance weighs each resource alike, as upstream does.
func distance(missing []shortage, r Rival) (sum float64) {
	for _, s := range missing {
		left := float64(max(0, s.missing()-requests(r, s.name))) / float64(s.missing())
		sum += left * left
	}
	return sum
}

func requests(r Rival, name corev1.ResourceName) int64 {
	if name == corev1.ResourcePods {
		return 1
	}
	return amount(name, resources.PodRequests(r.Allocated(), resources.PodResourcesOptions{})[name])
}

// Critical reports whether the node or its cluster cannot do without a pod.
func Critical(pod *node.Pod) bool {
	return pod.Source == node.SourceFile || pod.Source == node.SourceURL || limit.Critical(pod.Object)
}

// yields reports whether a pod has to end for a critical one.
func yields(pod, to *node.Pod) bool {
	low, high := pod.Object.Spec.Priority, to.Object.Spec.Priority
	return !Critical(pod) || low != nil && high != nil && *low < *high
}
