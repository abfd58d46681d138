package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/node"
	"nodal/server/auth"
	"nodal/server/method"
)

// The pods, objects and events of namespace dev have the name visible, those of namespace prod the name hidden.
func inNamespace(namespace, name string) string {
	head := "metadata: {name: " + name + ", namespace: " + namespace + "}\n"
	return "apiVersion: v1\nkind: Pod\n" + head + "spec:\n  containers:\n  - {name: main, image: registry.test/main:1}\n" +
		"---\napiVersion: v1\nkind: ConfigMap\n" + head +
		"---\napiVersion: v1\nkind: Secret\n" + head +
		"---\napiVersion: v1\nkind: PersistentVolumeClaim\n" + head +
		"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
}

// newShared returns a node that two namespaces share, and the authenticator of its callers.
func newShared(t *testing.T) (*node1, *auth.Authenticator) {
	t.Helper()
	a := newAuth(t, false)
	n := newNode(t, func(c *Config) {
		c.Front.Auth = a
		c.Machine.Stats = scriptedStats{summary: &statsapi.Summary{Node: statsapi.NodeStats{NodeName: "node1", SystemContainers: []statsapi.ContainerStats{{Name: "hidden"}}},
			Pods: []statsapi.PodStats{
				{PodRef: statsapi.PodReference{Namespace: "dev", Name: "visible"}}, {PodRef: statsapi.PodReference{Namespace: "prod", Name: "hidden"}},
			}}}
	})
	for namespace, name := range map[string]string{"dev": "visible", "prod": "hidden"} {
		manifest := inNamespace(namespace, name)
		if got := n.do(t, "POST", "/v1/manifests", manifest, "Authorization", tokenOf(t, "admin")); got.status != http.StatusOK {
			t.Fatalf("apply: got %d %s", got.status, got.body)
		}
		n.events.Add(node.Event{Key: node.Key{Namespace: namespace, Name: name}, Reason: name})
		key := node.Key{Namespace: namespace, Name: name}
		view, _ := n.store.View(key)
		n.store.Observe(key, &node.Observed{Sandboxes: []node.Sandbox{{ID: name, UID: view.Slot.Pod.UID(), State: node.SandboxReady}}})
	}
	n.events.Add(node.Event{Reason: "hidden"}) // of the node
	return n, a
}

// confined is the context of a caller that may do everything, but in namespace dev alone. No credential gives that: it
// takes the right out of the way of the scope.
func confined(t *testing.T) context.Context {
	return auth.NewContext(t.Context(), auth.Identity{Name: "ci", Role: auth.RoleAdmin, Namespaces: []string{"dev"}})
}

// request returns a request of a method that names what fields say, as far as it has such fields.
func request(t *testing.T, m method.Method, fields map[string]any) proto.Message {
	t.Helper()
	service, name, _ := strings.Cut(strings.TrimPrefix(m.Name, "/"), "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service + "." + name))
	if err != nil {
		t.Fatal(err)
	}
	kind, err := protoregistry.GlobalTypes.FindMessageByName(found.(protoreflect.MethodDescriptor).Input().FullName())
	if err != nil {
		t.Fatal(err)
	}
	message := kind.New()
	into := message
	if start := kind.Descriptor().Fields().ByName("start"); start != nil {
		into = message.Mutable(start).Message()
	}
	for name, value := range fields {
		if field := into.Descriptor().Fields().ByName(protoreflect.Name(name)); field != nil {
			into.Set(field, protoreflect.ValueOf(value))
		}
	}
	return message.Interface()
}

// call makes a call and returns the text of its answers. Of a watch it returns those up to its marker.
func (n *node1) call(ctx context.Context, m method.Method, r proto.Message) (text string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := n.server.Local().NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, m.Name)
	if status.Code(err) == codes.Unimplemented { // it is no stream
		reply := answerTo(m)
		err := n.server.Local().Invoke(ctx, m.Name, r, reply)
		return prototext.Format(reply), err
	}
	if err != nil {
		return "", err
	}
	if err := stream.SendMsg(r); err != nil && !errors.Is(err, io.EOF) { // then RecvMsg has the reason
		return "", err
	}
	if err := stream.CloseSend(); err != nil {
		return "", err
	}
	for {
		reply := answerTo(m)
		if err := stream.RecvMsg(reply); errors.Is(err, io.EOF) {
			return text, nil
		} else if err != nil {
			return text, err
		}
		one := prototext.Format(reply)
		text += one
		named := strings.Contains(one, "visible") || strings.Contains(one, "hidden")
		if !named || strings.HasSuffix(m.Name, "/WatchStats") {
			return text, nil
		}
	}
}

func answerTo(m method.Method) proto.Message {
	service, name, _ := strings.Cut(strings.TrimPrefix(m.Name, "/"), "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service + "." + name))
	if err != nil {
		panic(err)
	}
	kind, err := protoregistry.GlobalTypes.FindMessageByName(found.(protoreflect.MethodDescriptor).Output().FullName())
	if err != nil {
		panic(err)
	}
	return kind.New().Interface()
}

// Both tests go over all methods of the protos, so that a new one cannot be forgotten.
func TestNoMethodReachesAnotherNamespace(t *testing.T) {
	n, _ := newShared(t)
	for _, m := range methods(t) {
		for namespace, name := range map[string]string{"prod": "hidden", "": "hidden"} {
			if namespace == "" && (m.Scope == auth.SomeNamespaces || m.Scope == auth.Manifests) {
				continue // see below
			}
			r := request(t, m, map[string]any{
				"namespace": namespace, "name": name, "kind": "configmaps", "container": "main", "manifest": inNamespace("prod", "hidden"),
			})
			text, err := n.call(confined(t), m, r)
			want := codes.PermissionDenied
			if m.Scope == auth.Everyone {
				want = codes.OK
			}
			if got := status.Code(err); got != want || strings.Contains(text, "hidden") {
				t.Errorf("%s in namespace %q: got %v and %q, want %s", m.Name, namespace, err, text, want)
			}
		}
	}
	if _, found := n.store.View(node.Key{Namespace: "prod", Name: "hidden"}); !found {
		t.Error("the pod of the other namespace is gone")
	}
}

func TestListsAndWatchesShowTheCallersNamespacesOnly(t *testing.T) {
	n, _ := newShared(t)
	for _, m := range methods(t) {
		if m.Scope != auth.SomeNamespaces {
			continue
		}
		for name, fields := range map[string]map[string]any{
			"all": {"kind": "configmaps"}, "since": {"kind": "configmaps", "since_revision": int64(1)},
			"its own": {"kind": "configmaps", "namespace": "dev"},
		} {
			text, err := n.call(confined(t), m, request(t, m, fields))
			if err != nil || !strings.Contains(text, "visible") || strings.Contains(text, "hidden") {
				t.Errorf("%s, %s: got %v and %s, want what is visible alone", m.Name, name, err, text)
			}
			whole, err := n.call(auth.NewContext(t.Context(), auth.Identity{Name: "root", Role: auth.RoleAdmin}), m, request(t, m, fields))
			if err != nil || name != "its own" && !strings.Contains(whole, "hidden") {
				t.Errorf("%s, %s, of the whole node: got %v and %s, want what is hidden too", m.Name, name, err, whole)
			}
		}
	}
}

func TestAWatchThatResumesTellsNothingOfAnotherNamespace(t *testing.T) {
	n, _ := newShared(t)
	_, before := n.store.Views()
	if got := n.do(t, "DELETE", "/v1/manifests", inNamespace("prod", "hidden"), "Authorization", tokenOf(t, "admin")); got.status != http.StatusOK {
		t.Fatalf("delete: got %d %s", got.status, got.body)
	}
	for _, m := range methods(t) {
		if !strings.HasSuffix(m.Name, "/WatchPods") && !strings.HasSuffix(m.Name, "/WatchObjects") {
			continue
		}
		text, err := n.call(confined(t), m, request(t, m, map[string]any{"since_revision": before}))
		if err != nil || strings.Contains(text, "hidden") {
			t.Errorf("%s: got %v and %s, want nothing of what was deleted", m.Name, err, text)
		}
	}
}

func TestABundleThatLeavesTheNamespaceIsRefusedWhole(t *testing.T) {
	n, _ := newShared(t)
	volume := "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\n" +
		"spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /x}}\n"
	for _, m := range methods(t) {
		if m.Scope != auth.Manifests {
			continue
		}
		for _, c := range []struct{ name, manifest, want string }{
			{"its own", inNamespace("dev", "visible"), ""},
			{"one of another namespace", inNamespace("dev", "visible") + "---\n" + inNamespace("prod", "hidden"), `Pod prod/hidden is in namespace "prod"`},
			{"one without a namespace", manifestOf("new"), `Pod default/new is in namespace "default"`},
			{"one of the whole node", inNamespace("dev", "visible") + "---\n" + volume, "PersistentVolume disk belongs to the whole node"},
		} {
			_, before := n.store.Views()
			_, err := n.call(confined(t), m, request(t, m, map[string]any{"manifest": c.manifest}))
			if c.want == "" && err != nil || c.want != "" && (status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), `"ci" may only act in namespace dev`)) ||
				c.want != "" && !strings.Contains(strings.ReplaceAll(err.Error(), "ConfigMap prod", "Pod prod"), c.want) {
				t.Errorf("%s, %s: got %v, want %q", m.Name, c.name, err, c.want)
			}
			if _, after := n.store.Views(); c.want != "" && after != before {
				t.Errorf("%s, %s: the refused bundle has changed the node", m.Name, c.name)
			}
		}
	}
}

func TestTheKubeletsPathsKeepToTheNamespacesOfAToken(t *testing.T) {
	n, a := newShared(t)
	secret, _, err := a.CreateToken(t.Context(), auth.NewToken{Name: "confined", Role: auth.RoleOperator, Namespaces: []string{"dev"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.RevokeToken("confined"); err != nil {
			t.Error(err)
		}
	})
	fill := strings.NewReplacer("{namespace}", "prod", "{pod}", "hidden", "{node}", "node1", "{name}", "hidden", "{container}", "main", "{uid}", "x",
		"{kind}", "configmaps", "{profile}", "heap", "{check}", "ping", "{serial}", "1")
	for _, r := range table(t) {
		verb, path := strings.ReplaceAll(r.method, "*", "GET"), fill.Replace(r.pattern)
		if strings.HasSuffix(r.pattern, ":watch") || r.scope == auth.Manifests {
			continue // see above
		}
		got := n.do(t, verb, path, "", "Authorization", "Bearer "+secret)
		if r.pattern == "/api/v1/namespaces/{name}" { // where nothing is that the caller sees there is no namespace
			if got.status != http.StatusNotFound {
				t.Errorf("%s %s: got %d %s", verb, path, got.status, got.body)
			}
			continue
		}
		open := r.scope == auth.Everyone || r.scope == auth.SomeNamespaces && !strings.Contains(r.pattern, "{namespace}")
		if named := strings.Contains(r.pattern, "{namespace}"); named && r.scope == auth.WholeNode {
			t.Errorf("%s %s names a namespace, and its scope is %q", r.method, r.pattern, r.scope)
		}
		question := r.method == http.MethodPost && r.scope == auth.Everyone // it would need a body
		fine := got.status == http.StatusOK || got.status == http.StatusTemporaryRedirect || question && got.status != http.StatusForbidden
		if open && !fine || !open && got.status != http.StatusForbidden ||
			r.scope != auth.Everyone && strings.Contains(strings.ReplaceAll(got.body, path, ""), `"hidden"`) {
			t.Errorf("%s %s: got %d %s", verb, path, got.status, got.body)
		}
	}
	for _, path := range []string{"/pods", "/runningpods/", "/stats/summary"} {
		if got := n.do(t, "GET", path, "", "Authorization", "Bearer "+secret); !strings.Contains(got.body, `"visible"`) {
			t.Errorf("%s: got %s, want what is visible", path, got.body)
		}
	}
}
