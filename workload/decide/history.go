package decide

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"nodal/node"
)

// history holds the templates that a workload has had, as ControllerRevisions. kubectl rollout undo patches the workload with
// the data of one.
type history struct {
	*circle
	of      node.Value
	mark    string                       // the label of a revision that holds the mark of its template
	all     []*appsv1.ControllerRevision // oldest first
	present *appsv1.ControllerRevision   // of the present template; nil if it cannot be made
}

// historyOf finds the revisions of a workload, takes those that belong to nothing, and has the plan make that of the present
// template, or make it the latest.
func (c *circle) historyOf(of node.Value, selector *metav1.LabelSelector, mark string) *history {
	h := &history{circle: c, of: of, mark: mark}
	h.find(selector)
	template := node.NewObject(of).Template()
	last := int64(0)
	for _, r := range h.all {
		last = max(last, r.Revision)
		if sameTemplate(templateIn(r), template) {
			h.present = r
		}
	}
	switch {
	case h.present == nil:
		h.makePresent(template, last+1)
	case h.present.Revision < last:
		next := h.present.DeepCopy()
		next.Revision = last + 1
		c.plan.add(Change{Do: ChangeObject, Value: next})
		h.put(next)
	}
	return h
}

func (h *history) find(selector *metav1.LabelSelector) {
	chosen, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return
	}
	for _, r := range h.Revisions {
		if r.Namespace != h.of.GetNamespace() || r.DeletionTimestamp != nil {
			continue
		}
		switch {
		case ownedBy(r, h.of.GetUID()):
			h.all = append(h.all, r)
		case metav1.GetControllerOf(r) == nil && chosen.Matches(labels.Set(r.Labels)) && !h.claimed[r.UID]:
			h.claimed[r.UID] = true
			mine := r.DeepCopy()
			mine.OwnerReferences = append(mine.OwnerReferences, h.owner())
			h.plan.add(Change{Do: ChangeObject, Value: mine})
			h.all = append(h.all, mine)
		}
	}
	slices.SortStableFunc(h.all, func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Name, b.Name))
	})
}

func (h *history) owner() metav1.OwnerReference {
	return *metav1.NewControllerRef(h.of, gvkOf(node.NewObject(h.of).Kind))
}

// put makes a revision the latest and the present one.
func (h *history) put(next *appsv1.ControllerRevision) {
	h.all = append(slices.DeleteFunc(h.all, func(r *appsv1.ControllerRevision) bool { return r.Name == next.Name }), next)
	h.present = next
}

// makePresent has the plan make the revision of a template. Its name follows from the template, unless another has that name.
func (h *history) makePresent(template *corev1.PodTemplateSpec, revision int64) {
	text, _ := json.Marshal(unmarked(template)) // it came from JSON
	for n := range mostTries {
		mark := word(fmt.Sprintf("%s/%d", text, n), 10)
		name := h.of.GetName() + "-" + mark
		if slices.ContainsFunc(h.Revisions, func(r *appsv1.ControllerRevision) bool { return r.Namespace == h.of.GetNamespace() && r.Name == name }) {
			continue
		}
		made := &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: h.of.GetNamespace(), Name: name, Labels: maps.Clone(template.Labels), Annotations: maps.Clone(h.of.GetAnnotations()),
				OwnerReferences: []metav1.OwnerReference{h.owner()},
			},
			Data: runtime.RawExtension{Raw: patchTo(template)}, Revision: revision,
		}
		made.Labels[h.mark] = mark // a template without labels is not selected
		delete(made.Annotations, corev1.LastAppliedConfigAnnotation)
		made.SetGroupVersionKind(gvkOf(node.ControllerRevision))
		h.plan.add(Change{Do: MakeObject, Value: made})
		h.put(made)
		return
	}
}

// patchTo returns the strategic merge patch that gives a workload a template.
func patchTo(template *corev1.PodTemplateSpec) []byte {
	fields, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(template) // it came from JSON
	fields["$patch"] = "replace"
	text, _ := json.Marshal(map[string]any{"spec": map[string]any{"template": fields}})
	return text
}

// templateIn returns the template that a revision holds.
func templateIn(r *appsv1.ControllerRevision) *corev1.PodTemplateSpec {
	held := struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}{}
	if err := json.Unmarshal(r.Data.Raw, &held); err != nil {
		return &corev1.PodTemplateSpec{} // which is that of no workload
	}
	return &held.Spec.Template
}

// forget deletes the oldest revisions beyond a limit that no pod has.
func (h *history) forget(limit *int32, lives func(*appsv1.ControllerRevision) bool) {
	past := where(h.all, func(r *appsv1.ControllerRevision) bool { return r != h.present && r.UID != "" && !lives(r) })
	for _, r := range past[:max(0, len(past)-int(number(limit, 10)))] {
		h.plan.add(Change{Do: DeleteObject, Value: r})
	}
}
