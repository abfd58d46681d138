package auth

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/apimachinery/pkg/util/validation"

	"nodal/node"
)

// Scope says what a request means for a caller whose role is narrowed to namespaces.
type Scope string

const (
	OneNamespace   Scope = "namespace"  // it names one, which has to be one of the caller's
	SomeNamespaces Scope = "namespaces" // if it names none, the answer is about the caller's alone (Sees)
	Manifests      Scope = "manifests"  // it holds manifests, which the method judges one by one (Sees)
	WholeNode      Scope = "node"       // such a caller is refused
	Everyone       Scope = "everyone"   // the answer is the same for all
)

// Sees reports whether the request's identity may know of a namespace, or of what has none. It is the only answer to
// that question: an identity that is not narrowed sees everything.
func Sees(ctx context.Context, namespace string) bool {
	id, _ := From(ctx)
	return len(id.Namespaces) == 0 || slices.Contains(id.Namespaces, namespace)
}

// RequireNode returns an error that wraps node.ErrDenied if the request's identity is narrowed.
func RequireNode(ctx context.Context) error {
	id, _ := From(ctx)
	if len(id.Namespaces) == 0 {
		return nil
	}
	return refuse(codes.PermissionDenied, node.ErrDenied, "%s; this belongs to the whole node", id.narrowed())
}

// RequireNamespace returns an error that wraps node.ErrDenied unless the request's identity may act in a namespace. what
// names what the request wants to reach there, if that is known.
func RequireNamespace(ctx context.Context, namespace, what string) error {
	if Sees(ctx, namespace) {
		return nil
	}
	id, _ := From(ctx)
	what = cmp.Or(what, "this")
	if namespace == "" {
		return refuse(codes.PermissionDenied, node.ErrDenied, "%s; %s belongs to the whole node", id.narrowed(), what)
	}
	return refuse(codes.PermissionDenied, node.ErrDenied, "%s; %s is in namespace %q", id.narrowed(), what, namespace)
}

// checkNarrowed refuses to narrow a role in a way that does not hold.
func checkNarrowed(role Role, namespaces []string) error {
	if len(namespaces) == 0 {
		return nil
	}
	if role == RoleAdmin {
		return fmt.Errorf("role admin cannot be narrowed to namespaces, since its pods may take over the machine; take operator: %w", node.ErrInvalid)
	}
	if len(namespaces) > maxNamespaces {
		return fmt.Errorf("%d namespaces: at most %d are taken: %w", len(namespaces), maxNamespaces, node.ErrInvalid)
	}
	for _, namespace := range namespaces {
		if wrong := validation.IsDNS1123Label(namespace); len(wrong) > 0 {
			return fmt.Errorf("namespace %q: %s: %w", namespace, wrong[0], node.ErrInvalid)
		}
	}
	return nil
}

// maxNamespaces bounds those to which one role is narrowed: each request looks through them.
const maxNamespaces = 64

// narrowed begins the refusal of what lies outside of the identity's namespaces.
func (id Identity) narrowed() string {
	return `"` + id.Name + `" may only act in namespace ` + strings.Join(id.Namespaces, ", ")
}

// permits judges a request that names a namespace, or none. Without a scope it is about the whole node.
func (s Scope) permits(ctx context.Context, namespace string) error {
	switch {
	case s == Everyone || s == Manifests:
		return nil
	case s == OneNamespace || s == SomeNamespaces && namespace != "":
		return RequireNamespace(ctx, namespace, "")
	case s == SomeNamespaces:
		return nil
	}
	return RequireNode(ctx)
}

// namespaceIn returns the namespace that a request names.
func namespaceIn(request any) string {
	message, ok := request.(proto.Message)
	if !ok {
		return ""
	}
	m := message.ProtoReflect()
	field := NamespaceField(m.Descriptor())
	for _, f := range field {
		if f.Kind() == protoreflect.StringKind {
			return m.Get(f).String()
		}
		m = m.Get(f).Message()
	}
	return ""
}

// NamespaceField returns the way to the namespace in requests of a type: the field namespace, or that of the field
// start, with which streams begin. It is nil if requests name no namespace.
func NamespaceField(request protoreflect.MessageDescriptor) []protoreflect.FieldDescriptor {
	if field := request.Fields().ByName("namespace"); field != nil {
		return []protoreflect.FieldDescriptor{field}
	}
	start := request.Fields().ByName("start")
	if start == nil || start.Message() == nil {
		return nil
	}
	if field := start.Message().Fields().ByName("namespace"); field != nil {
		return []protoreflect.FieldDescriptor{start, field}
	}
	return nil
}
