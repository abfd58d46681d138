package method

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/server/auth"
)

func TestEveryMethodStatesItsRightItsListenersAndItsScope(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(Terms(all)), len(all); got != want || want == 0 {
		t.Errorf("got terms of %d methods, want those of %d", got, want)
	}
}

func TestWhatTakesSomethingAwayIsKnown(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	var frees []string
	for _, m := range all {
		if m.Frees {
			frees = append(frees, m.Name[strings.LastIndexByte(m.Name, '/')+1:])
		}
	}
	want := "RevokeCertificate DeleteClusterTrustBundle DeleteConfigMap PruneImages RemoveImage Delete DeleteObject " +
		"DeletePersistentVolumeClaim DeletePersistentVolume DeletePod DeleteRuntimeClass DeleteSecret RevokeToken"
	if got := strings.Join(frees, " "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestAMethodThatDoesNotStateHowItIsGuardedIsRefused(t *testing.T) {
	options := func(right nodev1.Right, on nodev1.Listeners, scope nodev1.Scope) *descriptorpb.MethodOptions {
		o := &descriptorpb.MethodOptions{}
		proto.SetExtension(o, nodev1.E_Right, right)
		proto.SetExtension(o, nodev1.E_Listeners, on)
		proto.SetExtension(o, nodev1.E_Scope, scope)
		return o
	}
	const full, whole = nodev1.Listeners_LISTENERS_FULL, nodev1.Scope_SCOPE_NODE
	for _, c := range []struct {
		name    string
		options *descriptorpb.MethodOptions
		want    string
	}{
		{"nothing", nil, "no right"},
		{"listeners alone", options(nodev1.Right_RIGHT_UNSPECIFIED, full, whole), "no right"},
		{"a right alone", options(nodev1.Right_RIGHT_READ, 0, whole), "no listeners"},
		{"a right that is not known", options(99, full, whole), "no right"},
		{"listeners that are not known", options(nodev1.Right_RIGHT_READ, 99, whole), "no listeners"},
		{"no scope", options(nodev1.Right_RIGHT_READ, full, 0), "no scope"},
		{"a scope that is not known", options(nodev1.Right_RIGHT_READ, full, 99), "no scope"},
		{"the scope of a namespace that no request names", options(nodev1.Right_RIGHT_READ, full, nodev1.Scope_SCOPE_NAMESPACE), "its scope"},
		{"a write to anybody", options(nodev1.Right_RIGHT_WRITE, nodev1.Listeners_LISTENERS_READS, whole), "the read-only port"},
		{"all", options(nodev1.Right_RIGHT_EXEC, full, whole), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := read(made(t, "Pod", c.options))
			switch {
			case c.want == "" && (err != nil || m.Right != auth.Exec || m.On != Full || m.Scope != auth.WholeNode):
				t.Errorf("got %+v, %v, want the right exec on full, of the whole node", m, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), "/x.S/Do: "+c.want)):
				t.Errorf("got %v, want /x.S/Do and %q", err, c.want)
			}
		})
	}
}

func TestAServiceStatesItsKindUnlessRequestsDo(t *testing.T) {
	options := &descriptorpb.MethodOptions{}
	proto.SetExtension(options, nodev1.E_Right, nodev1.Right_RIGHT_READ)
	proto.SetExtension(options, nodev1.E_Listeners, nodev1.Listeners_LISTENERS_FULL)
	if _, err := read(made(t, "", options)); err == nil || !strings.Contains(err.Error(), "no kind") {
		t.Errorf("got %v, want that there is no kind", err)
	}
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	changes := map[string]bool{}
	for _, m := range all {
		changes[m.Name] = m.Changes
	}
	for name, want := range map[string]bool{
		"/node.v1.PodsService/PutPod": true, "/node.v1.ExecService/Exec": true, "/node.v1.NodeService/SetLogLevel": true,
		"/node.v1.NodeService/GetLogLevel": false, "/node.v1.PodsService/ListPodsText": false,
	} {
		if got := changes[name]; got != want {
			t.Errorf("%s changes something: got %t, want %t", name, got, want)
		}
	}
}

// made returns a method Do of service x.S with the options. The service states the kind.
func made(t *testing.T, kind string, options *descriptorpb.MethodOptions) protoreflect.MethodDescriptor {
	t.Helper()
	about := &descriptorpb.ServiceOptions{}
	if kind != "" {
		proto.SetExtension(about, nodev1.E_Kind, kind)
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("x.proto"), Package: proto.String("x"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("M")}},
		Service: []*descriptorpb.ServiceDescriptorProto{{
			Name: proto.String("S"), Options: about,
			Method: []*descriptorpb.MethodDescriptorProto{{
				Name: proto.String("Do"), InputType: proto.String(".x.M"), OutputType: proto.String(".x.M"), Options: options,
			}},
		}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file.Services().Get(0).Methods().Get(0)
}

func TestParametersAreTheFieldsOutsidePathAndBody(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"GET /v1/pods":                               "namespace label_selector field_selector",
		"GET /v1/namespaces/{namespace}/pods":        "label_selector field_selector",
		"PUT /v1/namespaces/{namespace}/pods/{name}": "unchanged_since",
		"POST /v1/images:prune":                      "",
	}
	for _, m := range all {
		for _, path := range m.Paths {
			fields, ok := want[path.Verb+" "+path.Pattern]
			if !ok {
				continue
			}
			var got []string
			for _, field := range path.Query {
				got = append(got, field.TextName())
			}
			if strings.Join(got, " ") != fields {
				t.Errorf("%s %s: got %v, want %q", path.Verb, path.Pattern, got, fields)
			}
			delete(want, path.Verb+" "+path.Pattern)
		}
	}
	for path := range want {
		t.Errorf("%s is no method's", path)
	}
}
