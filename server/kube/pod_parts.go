package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/go-chi/chi/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/server/auth"
)

// podParts are the subresources of pods. The kubelet's own paths serve some of them (subresources.go).
var podParts = []part{
	{name: "attach", kind: "PodAttachOptions", verbs: []string{"create", "get"}},
	{name: "ephemeralcontainers", kind: "Pod", verbs: []string{"get", "patch", "update"}},
	{name: "eviction", kind: "Eviction", of: policyv1.SchemeGroupVersion, verbs: []string{"create"}},
	{name: "exec", kind: "PodExecOptions", verbs: []string{"create", "get"}},
	{name: "log", kind: "Pod", verbs: []string{"get"}},
	{name: "portforward", kind: "PodPortForwardOptions", verbs: []string{"create", "get"}},
	{name: "proxy", kind: "PodProxyOptions", verbs: []string{"create", "delete", "get", "patch", "update"}},
	{name: "resize", kind: "Pod", verbs: []string{"get", "patch", "update"}},
	{name: "status", kind: "Pod", verbs: []string{"get"}},
}

// podRoutes returns the paths of a pod's parts, below that of the pod.
func (s writer) podRoutes(one string) []Route {
	read := reader{s.resource}
	routes := []Route{
		{"POST", one + "/eviction", s.resource.remove, auth.OneNamespace, s.evict, true, false},
		{"GET", one + "/status", s.resource.get, auth.OneNamespace, read.get, false, false},
	}
	for _, path := range []string{one + "/proxy", one + "/proxy/*"} {
		routes = append(routes, Route{AnyMethod, path, nodev1.ExecService_PortForward_FullMethodName, auth.OneNamespace, s.proxy, false, false})
	}
	for name, take := range map[string]partOf{"/ephemeralcontainers": ephemeralContainersOf, "/resize": resourcesOf} {
		change := s.changePart(take)
		routes = append(routes, Route{"GET", one + name, s.resource.get, auth.OneNamespace, read.get, false, false},
			Route{"PUT", one + name, s.resource.put, auth.OneNamespace, change, true, false},
			Route{"PATCH", one + name, s.resource.put, auth.OneNamespace, change, true, false})
	}
	return routes
}

// evict ends a pod. A node keeps no budgets of disruptions that could speak against it.
func (s writer) evict(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "name")
	how, dry, err := evictionOf(r, name)
	if err == nil && dry {
		_, err = s.source.get(r.Context(), chi.URLParam(r, "namespace"), name)
	} else if err == nil {
		_, err = s.source.remove(r.Context(), chi.URLParam(r, "namespace"), name, how)
	}
	if err != nil {
		s.fail(w, err, name)
		return
	}
	writeJSON(w, http.StatusCreated, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess, Code: http.StatusCreated,
	})
}

// evictionOf reads how a pod is to end. Dry means that it is not.
func evictionOf(r *http.Request, name string) (how deletion, dry bool, err error) {
	asked := policyv1.Eviction{}
	if _, _, err := readBody(r, &asked); err != nil {
		return how, false, fmt.Errorf("read the eviction: %w: %w", err, node.ErrInvalid)
	}
	if asked.Name != name {
		return how, false, fmt.Errorf("name in URL does not match name in Eviction object: it is %q, and in the path %q: %w", asked.Name, name, node.ErrInvalid)
	}
	options := metav1.DeleteOptions{}
	if asked.DeleteOptions != nil {
		options = *asked.DeleteOptions
	}
	dry = slices.Contains(slices.Concat(options.DryRun, r.URL.Query()["dryRun"]), metav1.DryRunAll)
	how, err = deletionIn(options)
	return how, dry, err
}

// partOf returns the pod as it was, with one part as a client wants it.
type partOf func(before, after *object) (*object, error)

// changePart replaces or patches a part of a pod, which goes on running with the change or keeps what it has.
func (s writer) changePart(part partOf) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		namespace, name := chi.URLParam(r, "namespace"), chi.URLParam(r, "name")
		wanted, err := s.wanted(r, name)
		if errors.Is(err, node.ErrUnsupported) {
			failAs(w, http.StatusUnsupportedMediaType, err)
			return
		}
		var taken *object
		for range attempts {
			if err != nil {
				break
			}
			var before, after *object
			if before, err = s.source.get(r.Context(), namespace, name); err != nil {
				break
			}
			if after, err = wanted(before); err != nil {
				break
			}
			if after, err = part(before, after); err != nil {
				break
			}
			if reflect.DeepEqual(before, after) {
				taken = before
				break
			}
			var since *int64
			if since, err = sinceOf(before.GetResourceVersion()); err != nil {
				break
			}
			if err = s.stays(r.Context(), after); err != nil {
				break
			}
			if taken, err = s.take(w, r, after, since); status.Code(err) != codes.Aborted {
				break
			}
			err = nil // it has changed meanwhile
		}
		switch {
		case err != nil:
			s.fail(w, err, name)
		case taken == nil:
			s.fail(w, fmt.Errorf("%s %s changed all the time; try again: %w", s.Kind, name, node.ErrChanged), name)
		default:
			s.answer(w, r, http.StatusOK, taken)
		}
	}
}

// wanted reads what a client wants of a pod: a whole one, or a patch.
func (s writer) wanted(r *http.Request, name string) (func(before *object) (*object, error), error) {
	if r.Method == http.MethodPatch {
		how, err := patchOf(r)
		return func(before *object) (*object, error) {
			after, err := how.put(before, s.object)
			return after, errors.Join(err, s.sameIf(err, before, after))
		}, err
	}
	given, err := s.given(r, name)
	return func(before *object) (*object, error) {
		if version := given.GetResourceVersion(); version != "" && version != before.GetResourceVersion() {
			return nil, fmt.Errorf("resourceVersion %s: the object is at %s; read it again: %w", version, before.GetResourceVersion(), node.ErrChanged)
		}
		return given, nil
	}, err
}

func (s writer) sameIf(err error, before, after *object) error {
	if err != nil {
		return nil
	}
	return s.same(before, after)
}

// stays refuses a change for which the pod would be replaced.
func (s writer) stays(ctx context.Context, after *object) error {
	manifest, err := json.Marshal(after.Object)
	if err != nil {
		return err
	}
	planned, err := s.manifests.Plan(ctx, &nodev1.PlanRequest{Manifest: string(manifest)})
	if err != nil {
		return err
	}
	for _, o := range planned.GetOutcomes() {
		if o.GetResult() == nodev1.Result_RESULT_REPLACED {
			return refused("spec", "Forbidden: the running pod cannot take this change of "+fmt.Sprint(o.GetChanges())+"; only cpu and memory resources are mutable")
		}
	}
	return nil
}

func refused(field, rule string) error {
	return node.Invalid([]node.Violation{{Field: field, Rule: rule}}, 0)
}

// ephemeralContainersOf takes the ephemeral containers alone over.
func ephemeralContainersOf(before, after *object) (*object, error) {
	made, from := before.DeepCopy(), specOf(after)
	replace(specOf(made), from, "ephemeralContainers")
	return made, nil
}

// resourcesOf takes the resources of containers and of the pod alone over, as Kubernetes does.
func resourcesOf(before, after *object) (*object, error) {
	made := before.DeepCopy()
	into, from := specOf(made), specOf(after)
	replace(into, from, "resources")
	for _, list := range []string{"initContainers", "containers"} {
		olds, news := containersIn(into, list), containersIn(from, list)
		if len(olds) != len(news) {
			return nil, refused("spec."+list, "Forbidden: containers may not be added or removed on resize")
		}
		for i, c := range olds {
			if c["name"] != news[i]["name"] {
				return nil, refused(fmt.Sprintf("spec.%s[%d].name", list, i), "Forbidden: containers may not be renamed or reordered on resize")
			}
			replace(c, news[i], "resources")
			replace(c, news[i], "resizePolicy")
		}
	}
	return made, nil
}

func specOf(o *object) map[string]any {
	spec, _ := o.Object["spec"].(map[string]any)
	return spec
}

func containersIn(spec map[string]any, list string) (all []map[string]any) {
	items, _ := spec[list].([]any)
	for _, item := range items {
		if c, ok := item.(map[string]any); ok {
			all = append(all, c)
		}
	}
	return all
}

// replace gives a field the value that it has elsewhere, or none.
func replace(into, from map[string]any, field string) {
	if value, there := from[field]; there {
		into[field] = value
		return
	}
	delete(into, field)
}
