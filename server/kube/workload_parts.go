package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/go-chi/chi/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/server/auth"
)

// partsOf returns the subresources of a kind.
func partsOf(kind node.Kind) (parts []part) {
	if !kind.Workload {
		return nil
	}
	if scales(kind.New()) {
		parts = append(parts, part{
			name: "scale", kind: "Scale", of: autoscalingv1.SchemeGroupVersion, verbs: []string{"get", "patch", "update"},
		})
	}
	return append(parts, part{name: "status", kind: string(kind.Name), verbs: []string{"get", "patch", "update"}})
}

// scales reports whether a number of pods is wanted of a workload.
func scales(value node.Value) bool {
	spec := reflect.ValueOf(value).Elem().FieldByName("Spec")
	return spec.FieldByName("Replicas").IsValid()
}

// workloadRoutes returns the paths of a workload's parts, below that of the workload.
func (s writer) workloadRoutes(one string) (routes []Route) {
	read := reader{s.resource}
	change := nodev1.ObjectsService_PutObjectStatus_FullMethodName
	for _, p := range s.parts {
		path := one + "/" + p.name
		switch p.name {
		case "scale":
			routes = append(routes, Route{"GET", path, s.resource.get, auth.OneNamespace, s.showScale, false, false},
				Route{"PUT", path, s.put, auth.OneNamespace, s.scale, true, false}, Route{"PATCH", path, s.put, auth.OneNamespace, s.scale, true, false})
		case "status":
			routes = append(routes, Route{"GET", path, s.resource.get, auth.OneNamespace, read.get, false, false},
				Route{"PUT", path, change, auth.OneNamespace, s.changeStatus, true, false}, Route{"PATCH", path, change, auth.OneNamespace, s.changeStatus, true, false})
		}
	}
	return routes
}

// retried repeats a change of an object that has changed meanwhile.
func (s writer) retried(r *http.Request, change func(before *object) (*object, error)) (taken *object, err error) {
	for range attempts {
		var before *object
		if before, err = s.source.get(r.Context(), chi.URLParam(r, "namespace"), chi.URLParam(r, "name")); err != nil {
			return nil, err
		}
		if taken, err = change(before); status.Code(err) != codes.Aborted {
			return taken, err
		}
	}
	return nil, err
}

// changeStatus replaces or patches the status of a workload.
func (s writer) changeStatus(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "name")
	wanted, err := s.wanted(r, name)
	var taken *object
	if err == nil {
		taken, err = s.retried(r, func(before *object) (*object, error) {
			after, err := wanted(before)
			if err != nil {
				return nil, err
			}
			return s.putStatus(r, before, after)
		})
	}
	if err != nil {
		s.failChange(w, err, name)
		return
	}
	s.answer(w, r, http.StatusOK, taken)
}

// failChange answers with an error, which may be that the kind of patch is not known.
func (s writer) failChange(w http.ResponseWriter, err error, name string) {
	if errors.Is(err, node.ErrUnsupported) {
		failAs(w, http.StatusUnsupportedMediaType, err)
		return
	}
	s.fail(w, err, name)
}

func (s writer) putStatus(r *http.Request, before, after *object) (*object, error) {
	fields, _ := after.Object["status"].(map[string]any)
	made, err := structpb.NewStruct(fields)
	if err != nil {
		return nil, fmt.Errorf("status: %w: %w", err, node.ErrInvalid)
	}
	since, err := sinceOf(before.GetResourceVersion())
	if err != nil || isDry(r) {
		shown := before.DeepCopy()
		shown.Object["status"] = after.Object["status"]
		return shown, err
	}
	kept := s.source.(objects)
	answer, err := kept.clients.objects.PutObjectStatus(r.Context(), &nodev1.PutObjectStatusRequest{
		Kind: kept.kind.Plural, Namespace: before.GetNamespace(), Name: before.GetName(), Uid: string(before.GetUID()),
		Status: made, UnchangedSince: since,
	})
	return kept.shown(answer.GetObject()), err
}

func isDry(r *http.Request) bool { return slices.Contains(r.URL.Query()["dryRun"], metav1.DryRunAll) }

// showScale answers how many pods a workload has and wants.
func (s writer) showScale(w http.ResponseWriter, r *http.Request) {
	found, err := s.source.get(r.Context(), chi.URLParam(r, "namespace"), chi.URLParam(r, "name"))
	if err != nil {
		s.fail(w, err, chi.URLParam(r, "name"))
		return
	}
	writeJSON(w, http.StatusOK, scaleOf(found).Object)
}

// scaleOf returns a workload as its scale.
func scaleOf(o *object) *object {
	spec, _ := o.Object["spec"].(map[string]any)
	state, _ := o.Object["status"].(map[string]any)
	scale := &object{Object: map[string]any{
		"apiVersion": autoscalingv1.SchemeGroupVersion.String(), "kind": "Scale",
		"metadata": map[string]any{
			"name": o.GetName(), "namespace": o.GetNamespace(), "uid": string(o.GetUID()), "resourceVersion": o.GetResourceVersion(),
		},
	}}
	if at := o.GetCreationTimestamp(); !at.IsZero() {
		scale.SetCreationTimestamp(at)
	}
	scale.Object["spec"] = map[string]any{"replicas": numberOr0(spec["replicas"])}
	scale.Object["status"] = map[string]any{"replicas": numberOr0(state["replicas"]), "selector": selectorText(spec["selector"])}
	return scale
}

func numberOr0(value any) any {
	if value == nil {
		return int64(0)
	}
	return value
}

func selectorText(value any) string {
	fields, _ := value.(map[string]any)
	selector := metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &selector); err != nil {
		return ""
	}
	return metav1.FormatLabelSelector(&selector)
}

// scale changes how many pods a workload wants.
func (s writer) scale(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "name")
	options, err := optionsOf(r, "")
	var wanted func(before *object) (*object, error)
	if err == nil {
		wanted, err = scaleIn(r)
	}
	var taken *object
	if err == nil {
		taken, err = s.retried(r, func(before *object) (*object, error) {
			after, err := wanted(scaleOf(before))
			if err != nil {
				return nil, err
			}
			return s.putScale(w, r, before, after, options.FieldManager)
		})
	}
	if err != nil {
		s.failChange(w, err, name)
		return
	}
	writeJSON(w, http.StatusOK, scaleOf(taken).Object)
}

// scaleIn reads the scale that a client wants: a whole one, or a patch.
func scaleIn(r *http.Request) (func(before *object) (*object, error), error) {
	if r.Method == http.MethodPatch {
		how, err := patchOf(r)
		return func(before *object) (*object, error) { return how.put(before, new(autoscalingv1.Scale)) }, err
	}
	given := autoscalingv1.Scale{}
	if _, _, err := readBody(r, &given); err != nil {
		return nil, fmt.Errorf("read the scale: %w: %w", err, node.ErrInvalid)
	}
	return func(before *object) (*object, error) {
		if version := given.ResourceVersion; version != "" && version != before.GetResourceVersion() {
			return nil, fmt.Errorf("resourceVersion %s: the object is at %s; read it again: %w", version, before.GetResourceVersion(), node.ErrChanged)
		}
		after := before.DeepCopy()
		specOf(after)["replicas"] = int64(given.Spec.Replicas)
		return after, nil
	}, nil
}

func (s writer) putScale(w http.ResponseWriter, r *http.Request, before, scale *object, manager string) (*object, error) {
	next := before.DeepCopy()
	specOf(next)["replicas"] = numberOr0(specOf(scale)["replicas"])
	if reflect.DeepEqual(before.Object, next.Object) {
		return before, nil
	}
	since, err := sinceOf(before.GetResourceVersion())
	if err != nil {
		return nil, err
	}
	if next, err = s.owners.updated(before, next, manager); err != nil {
		return nil, err
	}
	return s.take(w, r, next, since)
}

// cascade has a workload go with what belongs to it, or without.
func (o objects) cascade(ctx context.Context, namespace, name string, how deletion) error {
	_, err := o.objects.DeleteObject(ctx, &nodev1.DeleteObjectRequest{
		Kind: o.kind.Plural, Namespace: namespace, Name: name, Uid: how.uid, UnchangedSince: how.unchanged, Propagation: how.propagation,
	})
	return err
}
