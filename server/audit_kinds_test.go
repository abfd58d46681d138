package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"nodal/node"
	"nodal/server/auth"
	"nodal/server/kube"
	"nodal/server/kubeletapi"
	"nodal/server/method"
)

// A method that is new in the protos has to pass without a line here.
func TestEveryMethodThatChangesSomethingIsAudited(t *testing.T) {
	n, file := newAudited(t, true)
	ctx := auth.NewContext(t.Context(), auth.Identity{Name: "root", Role: auth.RoleAdmin, Via: "socket"})
	for _, m := range methods(t) {
		if !m.Changes {
			continue
		}
		call(t, n, ctx, m)
		all := file.take()
		if len(all) != 2 || all[0].Method != m.Name || all[0].User != "root" || string(all[0].Verb) != string(m.Right) {
			t.Errorf("%s: got %+v, want the entries of one request", m.Name, all)
			continue
		}
		if pattern := patternOf(m); strings.HasPrefix(pattern, "/v1/manifests") {
			if got := all[0].Objects; len(got) != 1 || got[0].Kind != "Pod" || got[0].Name != "web" {
				t.Errorf("%s: got objects %+v, want the pod of the manifest", m.Name, got)
			}
			continue
		}
		got := all[0].Object
		if got == nil || got.Kind != kindIn(patternOf(m)) {
			t.Errorf("%s: got object %+v, want the kind %s of its path", m.Name, got, kindIn(patternOf(m)))
			continue
		}
		if strings.Contains(patternOf(m), "{name}") && (got.Name != "n1" || strings.Contains(patternOf(m), "{namespace}") != (got.Namespace == "ns1")) {
			t.Errorf("%s: got %+v, want the names of the request", m.Name, *got)
		}
	}
}

// patternOf returns the longest path of a method. A method without paths works on a pod.
func patternOf(m method.Method) (longest string) {
	longest = "/v1/namespaces/{namespace}/pods/{name}"
	for i, p := range m.Paths {
		if i == 0 || len(p.Pattern) > len(longest) {
			longest = p.Pattern
		}
	}
	return longest
}

// kindIn returns the kind of the collection that a path names.
func kindIn(pattern string) string {
	words := strings.Split(strings.TrimPrefix(pattern, "/v1/"), "/")
	if words[0] == "namespaces" {
		words = words[2:]
	}
	collection, _, _ := strings.Cut(words[0], ":")
	if collection == "objects" {
		collection = "configmaps" // as full says
	}
	if kind, known := node.KindNamed(collection); known {
		return string(kind.Name)
	}
	return strings.ToUpper(collection[:1]) + strings.TrimSuffix(collection[1:], "s")
}

// call makes a call with a complete request. What it comes to does not matter.
func call(t *testing.T, n *node1, ctx context.Context, m method.Method) {
	t.Helper()
	name := protoreflect.FullName(strings.ReplaceAll(m.Name[1:], "/", "."))
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		t.Fatal(err)
	}
	of := d.(protoreflect.MethodDescriptor)
	request, answer := full(t, of.Input()), full(t, of.Output())
	if !m.Stream {
		_ = n.server.Local().Invoke(ctx, m.Name, request, answer)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := n.server.Local().NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, m.Name)
	if err == nil {
		err = errors.Join(stream.SendMsg(request), stream.CloseSend())
	}
	if err != nil {
		t.Fatal(err)
	}
	for stream.RecvMsg(answer) == nil {
	}
}

// full returns a message with a value in each field that names something.
func full(t *testing.T, d protoreflect.MessageDescriptor) proto.Message {
	t.Helper()
	known, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		t.Fatal(err)
	}
	m := known.New()
	for name, value := range map[protoreflect.Name]string{
		"namespace": "ns1", "name": "n1", "kind": "configmaps", "container": "main", "image": "i", "manifest": manifestOf("web"),
	} {
		if field := d.Fields().ByName(name); field != nil && field.Kind() == protoreflect.StringKind {
			m.Set(field, protoreflect.ValueOfString(value))
		}
	}
	if start := d.Fields().ByName("start"); start != nil {
		m.Set(start, protoreflect.ValueOfMessage(full(t, start.Message()).ProtoReflect()))
	}
	return m.Interface()
}

func TestEveryKubeletPathThatChangesSomethingIsAudited(t *testing.T) {
	n, file := newAudited(t, true)
	for _, r := range table(t) {
		changes := r.right == auth.Exec || r.right == auth.Admin
		// Those of the Kubernetes API end in calls of the node API, which are audited.
		if strings.HasPrefix(r.pattern, "/v1/") || kube.Serves(r.method+" "+r.pattern) || !changes || r.method == kubeletapi.AnyMethod || strings.HasPrefix(r.pattern, "/debug/pprof") {
			continue
		}
		path := strings.NewReplacer("{namespace}", "ns1", "{pod}", "n1", "{uid}", "u1", "{container}", "main").Replace(r.pattern)
		n.do(t, r.method, path+"?command=id&container=main", "")
		received, done := file.pair(t)
		kind := "Node"
		if strings.Contains(r.pattern, "{pod}") {
			kind = "Pod"
		}
		if received.Method != r.method+" "+path || received.Object.Kind != kind || string(received.Verb) != string(r.right) ||
			done.Outcome == "" || done.Outcome == http.StatusText(http.StatusOK) {
			t.Errorf("%s %s: got %+v and %+v", r.method, r.pattern, received, done)
		}
		if kind == "Pod" && (received.Object.Name != "n1" || received.Object.Namespace != "ns1") {
			t.Errorf("%s %s: got object %+v", r.method, r.pattern, received.Object)
		}
	}
}
