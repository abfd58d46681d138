package kube

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"nodal/node"
	"nodal/server/auth"
)

// Rights tells what the caller of a request could ask for. It knows every path of the node.
type Rights interface {
	// Find returns the pattern of the path that serves a request.
	Find(method, path string) (pattern string, found bool)
	// May returns an error unless the caller could ask for a path of the pattern, in a namespace or in all.
	May(ctx context.Context, method, pattern, namespace string) error
	// Open yields the paths outside of the Kubernetes API that have no parameters.
	Open(yield func(method, path string) bool)
}

// reviews answers what callers may do and who they are.
type reviews struct {
	rights Rights
	table  []*resource // of all that may be asked for
	clients
}

// reviewed returns the resources whose objects are questions.
func (v *reviews) reviewed() []*resource {
	rights, who := authorizationv1.SchemeGroupVersion, authenticationv1.SchemeGroupVersion
	return []*resource{
		{
			GroupVersionKind: rights.WithKind("SelfSubjectAccessReview"), plural: "selfsubjectaccessreviews", singular: "selfsubjectaccessreview",
			object: new(authorizationv1.SelfSubjectAccessReview), review: v.access,
		},
		{
			GroupVersionKind: rights.WithKind("SelfSubjectRulesReview"), plural: "selfsubjectrulesreviews", singular: "selfsubjectrulesreview",
			object: new(authorizationv1.SelfSubjectRulesReview), review: v.rules,
		},
		{
			GroupVersionKind: who.WithKind("SelfSubjectReview"), plural: "selfsubjectreviews", singular: "selfsubjectreview",
			object: new(authenticationv1.SelfSubjectReview), review: v.self,
		},
	}
}

// access answers whether the caller may do one thing (kubectl auth can-i).
func (v *reviews) access(w http.ResponseWriter, r *http.Request) {
	asked := &authorizationv1.SelfSubjectAccessReview{}
	if !question(w, r, asked) {
		return
	}
	of, path := asked.Spec.ResourceAttributes, asked.Spec.NonResourceAttributes
	if err := oneOf(of, path); err != nil {
		fail(w, err)
		return
	}
	var denied error
	if path != nil {
		denied = v.mayAsk(r.Context(), path.Verb, path.Path)
	} else {
		denied = v.mayAll(r.Context(), *of)
	}
	asked.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: denied == nil}
	if denied != nil {
		asked.Status.Reason = denied.Error()
	}
	writeJSON(w, http.StatusCreated, asked)
}

// question reads what is asked, and answers itself if that cannot be read.
func question(w http.ResponseWriter, r *http.Request, into runtime.Object) bool {
	_, some, err := readBody(r, into)
	if err == nil && !some {
		err = fmt.Errorf("the body is empty")
	}
	if err != nil {
		fail(w, fmt.Errorf("read the review: %w: %w", err, node.ErrInvalid))
	}
	return err == nil
}

func oneOf(of *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) error {
	if (of == nil) != (path == nil) {
		return nil
	}
	return node.Invalid([]node.Violation{{
		Field: "spec.resourceAttributes", Rule: "exactly one of nonResourceAttributes or resourceAttributes must be specified",
	}}, 0)
}

const anything = "*"

// mayAll judges what attributes stand for: all resources and verbs that they name.
func (v *reviews) mayAll(ctx context.Context, of authorizationv1.ResourceAttributes) error {
	asked := 0
	for _, r := range v.table {
		if !is(of.Group, r.Group) || of.Version != "" && !is(of.Version, r.Version) || !is(of.Resource, r.plural) {
			continue
		}
		for _, part := range r.within(of) {
			for _, verb := range part.verbs {
				if !is(of.Verb, verb) {
					continue
				}
				asked++
				if err := v.may(ctx, r, part.name, verb, of.Namespace); err != nil {
					return err
				}
			}
		}
	}
	if asked == 0 {
		return fmt.Errorf("a node does not serve %s of %s", of.Verb, attributed(of))
	}
	return nil
}

func is(asked, got string) bool { return asked == anything || asked == got }

// within returns the parts that attributes name. The resource itself is one without a name.
func (r *resource) within(of authorizationv1.ResourceAttributes) (found []part) {
	if of.Subresource == "" || of.Resource == anything && of.Subresource == anything {
		found = append(found, part{verbs: r.verbs()})
	}
	for _, p := range r.parts {
		if of.Subresource != "" && is(of.Subresource, p.name) {
			found = append(found, p)
		}
	}
	return found
}

func attributed(of authorizationv1.ResourceAttributes) string {
	name := of.Resource
	if of.Group != "" {
		name += "." + of.Group
	}
	if of.Subresource != "" {
		name += "/" + of.Subresource
	}
	return name
}

// may judges one verb on a resource or a part of it, by the request that it stands for.
func (v *reviews) may(ctx context.Context, r *resource, part, verb, namespace string) error {
	method, path := r.request(part, verb, namespace)
	pattern, found := v.rights.Find(method, path)
	if !found {
		return fmt.Errorf("a node does not serve %s %s", method, path)
	}
	if !r.namespaced {
		namespace = ""
	}
	if err := v.rights.May(ctx, method, pattern, namespace); err != nil {
		return err
	}
	if verb == "patch" && part == "" {
		return writer{resource: r, clients: v.clients}.seesAll(ctx)
	}
	return nil
}

// methods are those of HTTP by Kubernetes' verbs.
var methods = map[string]string{
	"get": http.MethodGet, "list": http.MethodGet, "watch": http.MethodGet, "create": http.MethodPost, "update": http.MethodPut,
	"patch": http.MethodPatch, "delete": http.MethodDelete, "deletecollection": http.MethodDelete,
}

// request returns the request that a verb on a resource stands for, with names in place of parameters.
func (r *resource) request(part, verb, namespace string) (method, path string) {
	all := part == "" && (verb == "list" || verb == "watch")
	path = r.root()
	if r.namespaced && (namespace != "" || !all) {
		path += "/namespaces/namespace"
	}
	path += "/" + r.plural
	switch {
	case part != "":
		path += "/name/" + part
	case !all && verb != "create" && verb != "deletecollection":
		path += "/name"
	}
	return methods[verb], path
}

// mayAsk judges a request to a path that is not one of a resource.
func (v *reviews) mayAsk(ctx context.Context, verb, path string) error {
	path, _, _ = strings.Cut(path, "?")
	method := strings.ToUpper(verb)
	pattern, found := v.rights.Find(method, path)
	if !found {
		return fmt.Errorf("a node does not serve %s %s", method, path)
	}
	return v.rights.May(ctx, method, pattern, namespaceOf(pattern, path))
}

// namespaceOf returns the word of a path that stands where its pattern has the namespace.
func namespaceOf(pattern, path string) string {
	at := slices.Index(strings.Split(pattern, "/"), "{namespace}")
	if words := strings.Split(path, "/"); at >= 0 && at < len(words) {
		return words[at]
	}
	return ""
}

// rules answers with all that the caller may do in a namespace (kubectl auth can-i --list).
func (v *reviews) rules(w http.ResponseWriter, r *http.Request) {
	asked := &authorizationv1.SelfSubjectRulesReview{}
	if !question(w, r, asked) {
		return
	}
	if asked.Spec.Namespace == "" {
		fail(w, fmt.Errorf("no namespace on request: %w", node.ErrInvalid))
		return
	}
	asked.Status = authorizationv1.SubjectRulesReviewStatus{
		ResourceRules: v.resourceRules(r.Context(), asked.Spec.Namespace), NonResourceRules: v.pathRules(r.Context()),
	}
	writeJSON(w, http.StatusCreated, asked)
}

func (v *reviews) resourceRules(ctx context.Context, namespace string) []authorizationv1.ResourceRule {
	rules := []authorizationv1.ResourceRule{}
	for _, r := range v.table {
		for _, p := range append([]part{{verbs: r.verbs()}}, r.parts...) {
			var verbs []string
			for _, verb := range p.verbs {
				if v.may(ctx, r, p.name, verb, namespace) == nil {
					verbs = append(verbs, verb)
				}
			}
			name := strings.TrimSuffix(r.plural+"/"+p.name, "/")
			if len(verbs) > 0 {
				rules = append(rules, authorizationv1.ResourceRule{Verbs: verbs, APIGroups: []string{r.Group}, Resources: []string{name}})
			}
		}
	}
	return rules
}

func (v *reviews) pathRules(ctx context.Context) []authorizationv1.NonResourceRule {
	var order []string
	paths := map[string][]string{}
	for method, path := range v.rights.Open {
		verb := strings.ToLower(method)
		if v.rights.May(ctx, method, path, "") != nil {
			continue
		}
		if _, known := paths[verb]; !known {
			order = append(order, verb)
		}
		paths[verb] = append(paths[verb], path)
	}
	rules := []authorizationv1.NonResourceRule{}
	for _, verb := range order {
		rules = append(rules, authorizationv1.NonResourceRule{Verbs: []string{verb}, NonResourceURLs: paths[verb]})
	}
	return rules
}

// What self says of a caller beside Kubernetes' own words.
const (
	extraRole      = "nodal.node/role"
	extraNamespace = "nodal.node/namespace"
)

// self answers who the caller is (kubectl auth whoami).
func (*reviews) self(w http.ResponseWriter, r *http.Request) {
	id, _ := auth.From(r.Context())
	extra := map[string]authenticationv1.ExtraValue{}
	for key, values := range id.Extra {
		extra[key] = values
	}
	if id.Role != auth.RoleNone {
		extra[extraRole] = authenticationv1.ExtraValue{string(id.Role)}
	}
	if len(id.Namespaces) > 0 {
		extra[extraNamespace] = id.Namespaces
	}
	made := authenticationv1.SelfSubjectReview{
		TypeMeta:   metav1.TypeMeta{APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectReview"},
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Now()},
		Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{
			Username: id.Name, UID: id.UID, Groups: id.Groups, Extra: extra,
		}},
	}
	writeJSON(w, http.StatusCreated, made)
}

// Itself refuses requests in the name of others. They would be answered by the rights of the caller.
func Itself(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if strings.HasPrefix(name, "Impersonate-") {
				fail(w, fmt.Errorf("a node does not act for others (--as); use a credential of %q: %w", r.Header.Get("Impersonate-User"), node.ErrDenied))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
