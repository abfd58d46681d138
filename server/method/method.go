package method

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/server/auth"
)

// Listeners is the set of the kinds of listener that serve a path.
type Listeners uint8

const (
	Full     Listeners = 1 << iota // the socket and 10250
	ReadOnly                       // 10255
	Health                         // 10248

	Reads = Full | ReadOnly
	Every = Full | ReadOnly | Health
)

// String returns the kinds as the golden file of routes shows them.
func (l Listeners) String() string {
	var names []string
	for _, kind := range []struct {
		is   Listeners
		name string
	}{{Full, "full"}, {ReadOnly, "read-only"}, {Health, "health"}} {
		if l&kind.is != 0 {
			names = append(names, kind.name)
		}
	}
	return strings.Join(names, ",")
}

// Method is one method of the API.
type Method struct {
	Name    string // in full, as gRPC has it: "/node.v1.PodsService/GetPod"
	Right   auth.Verb
	Scope   auth.Scope
	On      Listeners
	Kind    string // of the objects that it is about; empty if the request says it
	Changes bool   // something on the node, or runs a command
	Frees   bool   // takes something away: a full disk must not refuse it
	Paths   []Path // none if it is served over gRPC alone
	Stream  bool   // sends or takes more than one message
	Takes   bool   // more than one message
}

// Path is one of a method's addresses over HTTP.
type Path struct {
	Verb    string
	Pattern string
	Body    bool                           // a body is part of the request
	Query   []protoreflect.FieldDescriptor // of the request, those neither in the pattern nor in the body
}

// All returns every method of the API, by name.
func All() ([]Method, error) {
	var all []Method
	var failed error
	own := nodev1.File_node_v1_access_proto.Package()
	protoregistry.GlobalFiles.RangeFilesByPackage(own, func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				m, err := read(methods.Get(j))
				if err != nil {
					failed = err
					return false
				}
				all = append(all, m)
			}
		}
		return true
	})
	slices.SortFunc(all, func(a, b Method) int { return cmp.Compare(a.Name, b.Name) })
	return all, failed
}

// Terms maps each method's full name to what it asks of its callers.
func Terms(all []Method) map[string]auth.Terms {
	terms := map[string]auth.Terms{}
	for _, m := range all {
		terms[m.Name] = m.Terms()
	}
	return terms
}

// Terms returns what the method asks of its callers.
func (m Method) Terms() auth.Terms { return auth.Terms{Verb: m.Right, Scope: m.Scope} }

// read returns a method of the protos. It has to state its right, its listeners and its scope.
func read(d protoreflect.MethodDescriptor) (Method, error) {
	m := Method{
		Name:   fmt.Sprintf("/%s/%s", d.Parent().FullName(), d.Name()),
		Stream: d.IsStreamingClient() || d.IsStreamingServer(),
		Takes:  d.IsStreamingClient(),
		Paths:  pathsOf(d),
	}
	options := d.Options()
	right, _ := proto.GetExtension(options, nodev1.E_Right).(nodev1.Right)
	on, _ := proto.GetExtension(options, nodev1.E_Listeners).(nodev1.Listeners)
	var known bool
	if m.Right, known = rightOf(right); !known {
		return m, fmt.Errorf("method %s: no right is stated; add option (node.v1.right) to its proto", m.Name)
	}
	if m.On, known = listenersOf(on); !known {
		return m, fmt.Errorf("method %s: no listeners are stated; add option (node.v1.listeners) to its proto", m.Name)
	}
	if m.Kind, known = kindOf(d); !known {
		return m, fmt.Errorf("method %s: no kind of object is stated; add option (node.v1.kind) to its service", m.Name)
	}
	m.Changes = m.Right != auth.Read && !slices.ContainsFunc(m.Paths, func(p Path) bool { return p.Verb == http.MethodGet })
	m.Frees = m.Changes && takesAway(string(d.Name()))
	if m.Scope, known = scopeOf(options); !known {
		return m, fmt.Errorf("method %s: no scope is stated; add option (node.v1.scope) to its proto", m.Name)
	}
	named, byName := auth.NamespaceField(d.Input()) != nil, m.Scope == auth.OneNamespace || m.Scope == auth.SomeNamespaces
	if named != byName && m.Scope != auth.WholeNode {
		return m, fmt.Errorf("method %s: its scope is %q, which does not fit whether its requests name a namespace", m.Name, m.Scope)
	}
	if m.On&ReadOnly != 0 && m.Right != auth.Read {
		return m, fmt.Errorf("method %s: the read-only port asks for no credential and cannot serve right %q; use LISTENERS_FULL", m.Name, m.Right)
	}
	return m, nil
}

func takesAway(method string) bool {
	return slices.ContainsFunc([]string{"Delete", "Remove", "Prune", "Revoke"}, func(word string) bool {
		return strings.HasPrefix(method, word)
	})
}

// kindOf returns the kind that a service is about. A service may leave it out if its requests say it.
func kindOf(d protoreflect.MethodDescriptor) (kind string, known bool) {
	kind, _ = proto.GetExtension(d.Parent().Options(), nodev1.E_Kind).(string)
	for _, field := range []protoreflect.Name{"kind", "kinds", "manifest"} {
		known = known || d.Input().Fields().ByName(field) != nil
	}
	return kind, known || kind != ""
}

func rightOf(r nodev1.Right) (auth.Verb, bool) {
	switch r {
	case nodev1.Right_RIGHT_READ:
		return auth.Read, true
	case nodev1.Right_RIGHT_WRITE:
		return auth.Write, true
	case nodev1.Right_RIGHT_EXEC:
		return auth.Exec, true
	case nodev1.Right_RIGHT_ADMIN:
		return auth.Admin, true
	}
	return "", false
}

func scopeOf(options proto.Message) (auth.Scope, bool) {
	switch stated, _ := proto.GetExtension(options, nodev1.E_Scope).(nodev1.Scope); stated {
	case nodev1.Scope_SCOPE_NAMESPACE:
		return auth.OneNamespace, true
	case nodev1.Scope_SCOPE_NAMESPACES:
		return auth.SomeNamespaces, true
	case nodev1.Scope_SCOPE_MANIFESTS:
		return auth.Manifests, true
	case nodev1.Scope_SCOPE_NODE:
		return auth.WholeNode, true
	case nodev1.Scope_SCOPE_EVERYONE:
		return auth.Everyone, true
	}
	return "", false
}

func listenersOf(l nodev1.Listeners) (Listeners, bool) {
	switch l {
	case nodev1.Listeners_LISTENERS_FULL:
		return Full, true
	case nodev1.Listeners_LISTENERS_READS:
		return Reads, true
	}
	return 0, false
}

func pathsOf(d protoreflect.MethodDescriptor) []Path {
	first, _ := proto.GetExtension(d.Options(), annotations.E_Http).(*annotations.HttpRule)
	if first == nil {
		return nil
	}
	var paths []Path
	for _, rule := range append([]*annotations.HttpRule{first}, first.GetAdditionalBindings()...) {
		verb, pattern := address(rule)
		paths = append(paths, Path{Verb: verb, Pattern: pattern, Body: rule.GetBody() != "", Query: queryFields(d.Input(), pattern, rule.GetBody())})
	}
	return paths
}

func address(rule *annotations.HttpRule) (verb, pattern string) {
	switch {
	case rule.GetGet() != "":
		return http.MethodGet, rule.GetGet()
	case rule.GetPut() != "":
		return http.MethodPut, rule.GetPut()
	case rule.GetPost() != "":
		return http.MethodPost, rule.GetPost()
	}
	return http.MethodDelete, rule.GetDelete()
}

// queryFields returns the fields of a request that neither its path nor its body holds.
func queryFields(request protoreflect.MessageDescriptor, pattern, body string) []protoreflect.FieldDescriptor {
	var fields []protoreflect.FieldDescriptor
	for i := range request.Fields().Len() {
		field := request.Fields().Get(i)
		name := field.TextName()
		if body != "*" && body != name && !strings.Contains(pattern, "{"+name+"}") {
			fields = append(fields, field)
		}
	}
	return fields
}
