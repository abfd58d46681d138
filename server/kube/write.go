package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/go-chi/chi/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/rand"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// writer serves what changes the objects of one resource.
type writer struct {
	*resource
	clients
	owners owners
}

// create takes an object that is not there yet.
func (s writer) create(w http.ResponseWriter, r *http.Request) {
	given, err := s.given(r, "")
	var options metav1.PatchOptions
	if err == nil {
		options, err = optionsOf(r, "")
	}
	if err != nil {
		s.fail(w, err, "")
		return
	}
	if given.GetName() == "" && given.GetGenerateName() != "" {
		given.SetName(given.GetGenerateName() + rand.String(5))
	}
	if given, err = s.owners.updated(emptyObject(s.GroupVersionKind), given, options.FieldManager); err != nil {
		s.fail(w, err, "")
		return
	}
	taken, err := s.take(w, r, given, new(int64))
	switch {
	case status.Code(err) == codes.Aborted:
		made := statusOf(err)
		made.Reason, made.Message = metav1.StatusReasonAlreadyExists, fmt.Sprintf("%s %q already exists", s.qualified(), given.GetName())
		made.Details = &metav1.StatusDetails{Group: s.Group, Kind: s.plural, Name: given.GetName()}
		writeStatus(w, made)
	case err != nil:
		s.fail(w, err, given.GetName())
	default:
		s.answer(w, r, http.StatusCreated, taken)
	}
}

// update replaces an object that is there.
func (s writer) update(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "name")
	given, err := s.given(r, name)
	var options metav1.PatchOptions
	if err == nil {
		options, err = optionsOf(r, "")
	}
	if err != nil {
		s.fail(w, err, name)
		return
	}
	var taken *object
	for range attempts {
		taken, err = s.replace(w, r, given, options.FieldManager)
		if given.GetResourceVersion() != "" || status.Code(err) != codes.Aborted {
			break
		}
	}
	if err != nil {
		s.fail(w, err, name)
		return
	}
	s.answer(w, r, http.StatusOK, taken)
}

// replace puts an object in the place of the live one. Without a version it fails with ABORTED if that changed meanwhile.
func (s writer) replace(w http.ResponseWriter, r *http.Request, given *object, manager string) (*object, error) {
	live, err := s.source.get(r.Context(), given.GetNamespace(), given.GetName())
	if err != nil {
		return nil, err
	}
	since, err := sinceOf(cmp.Or(given.GetResourceVersion(), live.GetResourceVersion()))
	if err != nil {
		return nil, err
	}
	next, err := s.owners.updated(live, given, manager)
	if err != nil {
		return nil, err
	}
	return s.take(w, r, next, since)
}

// attempts bounds how often a patch is put on what has changed meanwhile: a pod's status may change at any time.
const attempts = 10

// patch changes fields of an object.
func (s writer) patch(w http.ResponseWriter, r *http.Request) {
	namespace, name := chi.URLParam(r, "namespace"), chi.URLParam(r, "name")
	how, err := patchOf(r)
	switch {
	case err != nil:
		failAs(w, http.StatusUnsupportedMediaType, err)
		return
	case how.kind == applyPatch:
		s.apply(w, r)
		return
	}
	options, err := optionsOf(r, types.PatchType(how.kind))
	if err == nil {
		err = s.seesAll(r.Context())
	}
	if err != nil {
		s.fail(w, err, name)
		return
	}
	var taken *object
	for range attempts {
		var before, after *object
		if before, err = s.source.get(r.Context(), namespace, name); err != nil {
			break
		}
		if after, err = how.put(before, s.object); err != nil {
			break
		}
		if err = s.same(before, after); err != nil {
			break
		}
		if reflect.DeepEqual(before, after) {
			taken = before
			break
		}
		if after, err = s.owners.updated(before, after, options.FieldManager); err != nil {
			break
		}
		var since *int64
		if since, err = sinceOf(before.GetResourceVersion()); err != nil {
			break
		}
		if taken, err = s.take(w, r, after, since); status.Code(err) != codes.Aborted {
			break
		}
	}
	if err != nil {
		s.fail(w, err, name)
		return
	}
	s.answer(w, r, http.StatusOK, taken)
}

// seesAll refuses a patch by callers that do not see the whole object: the rest would be lost.
func (s writer) seesAll(ctx context.Context) error {
	o, ok := s.source.(objects)
	if !ok || o.kind.Hide == nil || o.values(ctx) {
		return nil
	}
	return fmt.Errorf("only an admin can change parts of a %s, as its values are hidden from others; replace it as a whole (kubectl replace): %w",
		s.Kind, node.ErrDenied)
}

// same checks that a patched object is still the same one.
func (s writer) same(before, after *object) error {
	for _, field := range []struct{ name, before, after string }{
		{"apiVersion", before.GetAPIVersion(), after.GetAPIVersion()}, {"kind", before.GetKind(), after.GetKind()},
		{"metadata.namespace", before.GetNamespace(), after.GetNamespace()}, {"metadata.name", before.GetName(), after.GetName()},
		{"metadata.uid", string(before.GetUID()), string(after.GetUID())},
	} {
		if field.before != field.after {
			return fmt.Errorf("%s: a patch cannot change it from %q to %q: %w", field.name, field.before, field.after, node.ErrInvalid)
		}
	}
	if before.GetResourceVersion() != after.GetResourceVersion() {
		return fmt.Errorf("resourceVersion %s: the object is at %s; read it again: %w", after.GetResourceVersion(), before.GetResourceVersion(), node.ErrChanged)
	}
	return nil
}

// remove deletes an object. A pod then ends within its grace period.
func (s writer) remove(w http.ResponseWriter, r *http.Request) {
	namespace, name := chi.URLParam(r, "namespace"), chi.URLParam(r, "name")
	how, dry, err := deletionOf(r)
	if err != nil {
		s.fail(w, err, name)
		return
	}
	drop := s.source.remove
	if dry {
		drop = func(ctx context.Context, namespace, name string, _ deletion) (*object, error) {
			return s.source.get(ctx, namespace, name)
		}
	}
	gone, err := drop(r.Context(), namespace, name, how)
	switch {
	case err != nil:
		s.fail(w, err, name)
	case gone.GetDeletionTimestamp() != nil:
		s.answer(w, r, http.StatusOK, gone)
	default:
		writeJSON(w, http.StatusOK, metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess,
			Details: &metav1.StatusDetails{Group: s.Group, Kind: s.plural, Name: name, UID: gone.GetUID()},
		})
	}
}

// deletionOf reads how to delete, from the body or the query. Dry means that nothing is deleted.
func deletionOf(r *http.Request) (how deletion, dry bool, err error) {
	options := metav1.DeleteOptions{DryRun: r.URL.Query()["dryRun"]}
	_, _, err = readBody(r, &options)
	if text := r.URL.Query().Get("gracePeriodSeconds"); err == nil && text != "" && options.GracePeriodSeconds == nil {
		options.GracePeriodSeconds = new(int64)
		*options.GracePeriodSeconds, err = strconv.ParseInt(text, 10, 64)
	}
	if how := metav1.DeletionPropagation(r.URL.Query().Get("propagationPolicy")); how != "" && options.PropagationPolicy == nil {
		options.PropagationPolicy = &how
	}
	if err != nil {
		return how, false, fmt.Errorf("read the options of the deletion: %w: %w", err, node.ErrInvalid)
	}
	how, err = deletionIn(options)
	return how, len(options.DryRun) > 0, err
}

func deletionIn(options metav1.DeleteOptions) (how deletion, err error) {
	how.grace = options.GracePeriodSeconds
	if policy := options.PropagationPolicy; policy != nil {
		how.propagation = string(*policy)
	}
	if p := options.Preconditions; p != nil {
		if p.UID != nil {
			how.uid = string(*p.UID)
		}
		if p.ResourceVersion != nil {
			how.unchanged, err = sinceOf(*p.ResourceVersion)
		}
	}
	return how, err
}

// sinceOf reads a resourceVersion after which an object may not have changed. Without one it may.
func sinceOf(version string) (*int64, error) {
	if version == "" {
		return nil, nil
	}
	since, err := strconv.ParseInt(version, 10, 64)
	if err != nil || since < 0 {
		return nil, fmt.Errorf("resourceVersion %q: not a revision of the node: %w", version, node.ErrInvalid)
	}
	return &since, nil
}

// given reads the object in the body. It has to be what the path names.
func (s writer) given(r *http.Request, name string) (*object, error) {
	given, err := s.objectIn(r)
	if err != nil {
		return nil, fmt.Errorf("read the %s: %w: %w", s.Kind, err, node.ErrInvalid)
	}
	if got := given.GroupVersionKind(); got != s.GroupVersionKind {
		return nil, fmt.Errorf("the body holds %q of kind %q; this path takes %q of kind %q: %w",
			given.GetAPIVersion(), given.GetKind(), s.GroupVersion(), s.Kind, node.ErrInvalid)
	}
	namespace := chi.URLParam(r, "namespace")
	if in := given.GetNamespace(); in == "" && namespace != "" {
		given.SetNamespace(namespace)
	} else if in != namespace {
		return nil, fmt.Errorf("metadata.namespace: it is %q, and in the path %q: %w", in, namespace, node.ErrInvalid)
	}
	if name != "" && given.GetName() != name {
		return nil, fmt.Errorf("metadata.name: it is %q, and in the path %q: %w", given.GetName(), name, node.ErrInvalid)
	}
	return given, nil
}

// objectIn reads the object in the body.
func (s writer) objectIn(r *http.Request) (*object, error) {
	if !isProtobuf(r) {
		given := &object{}
		_, _, err := readBody(r, &given.Object)
		if err == nil && given.Object == nil {
			err = errors.New("the body does not hold an object")
		}
		return given, err
	}
	typed := s.object.DeepCopyObject()
	kind, _, err := readBody(r, typed)
	if err != nil {
		return nil, err
	}
	given, err := untyped(typed)
	if err != nil {
		return nil, err
	}
	given.SetAPIVersion(kind.APIVersion)
	given.SetKind(kind.Kind)
	return given, nil
}

// take has the node take an object, and returns it as it then is. In a dry run it is checked and returned as it came.
func (s writer) take(w http.ResponseWriter, r *http.Request, given *object, since *int64) (*object, error) {
	manifest, err := json.Marshal(withoutMark(given).Object)
	if err != nil {
		return nil, err
	}
	if slices.Contains(r.URL.Query()["dryRun"], metav1.DryRunAll) {
		planned, err := s.manifests.Plan(r.Context(), &nodev1.PlanRequest{Manifest: string(manifest)})
		warn(w, planned.GetOutcomes())
		return given, err
	}
	applied, err := s.manifests.Apply(r.Context(), &nodev1.ApplyRequest{Manifest: string(manifest), UnchangedSince: since})
	if err != nil {
		return nil, err
	}
	warn(w, applied.GetOutcomes())
	return s.source.get(r.Context(), given.GetNamespace(), given.GetName())
}

// warn sends what the node has to say about an object. kubectl shows it.
func warn(w http.ResponseWriter, outcomes []*nodev1.Outcome) {
	for _, o := range outcomes {
		for _, text := range o.GetWarnings() {
			if header, err := utilnet.NewWarningHeader(299, "-", text); err == nil {
				w.Header().Add("Warning", header)
			}
		}
	}
}

func (s writer) answer(w http.ResponseWriter, r *http.Request, code int, taken *object) {
	as := formOf(r)
	if as == nothing {
		as = whole
	}
	writeJSON(w, code, reader{s.resource}.shown(as, taken, taken.GetResourceVersion()))
}
