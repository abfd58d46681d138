package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/intake"
	"nodal/node/manifest"
	"nodal/node/store"
	"nodal/server/auth"
)

// objects lists, shows, applies and deletes objects that pods use, such as ConfigMaps. All
// their services are built on it.
type objects struct {
	store  *store.Store
	intake intake.Intake
	now    func() time.Time
	limit  int // bytes of a manifest
}

// shown is an object as one caller may see it.
type shown struct {
	*node.Object          // without the values that are hidden from the caller
	keys         []string // of all values
}

// asShown returns an object with its values. Without values, those of a Secret are removed.
func asShown(o *node.Object, values bool) shown {
	s := shown{Object: o, keys: slices.Sorted(maps.Keys(o.Data()))}
	if kind, _ := node.KindNamed(string(o.Kind)); kind.Hide != nil && !values {
		s.Object = o.Clone()
		s.Revision = o.Revision
		kind.Hide(s.Value)
	}
	return s
}

// seesValues reports whether the caller may see the values of Secrets.
func seesValues(ctx context.Context) bool { return auth.Require(ctx, auth.Admin) == nil }

// get returns one object. Only an admin sees the values of a Secret.
func (s objects) get(ctx context.Context, ref node.ObjectRef) (shown, error) {
	object, ok := s.store.Object(ref)
	if !ok {
		return shown{}, fmt.Errorf("%s: %w", ref, node.ErrNotFound)
	}
	if err := object.Readable(); err != nil {
		return shown{}, err
	}
	return asShown(object, seesValues(ctx)), nil
}

// list returns the objects of a kind that the caller sees, in all namespaces or in one.
func (s objects) list(ctx context.Context, kind node.ObjectKind, namespace string) ([]*node.Object, int64) {
	all, revision := s.store.Objects(kind)
	return slices.DeleteFunc(all, func(o *node.Object) bool {
		of := o.Meta().Namespace
		return namespace != "" && of != namespace || !auth.Sees(ctx, of)
	}), revision
}

// put applies the manifest of the one object that the path names. The answer repeats no
// value of a Secret.
func (s objects) put(ctx context.Context, ref node.ObjectRef, text string) (*nodev1.Outcome, shown, error) {
	deliveries, err := deliver(ctx, text, s.limit, manifest.Options{Namespace: ref.Namespace})
	if err != nil {
		return nil, shown{}, err
	}
	if len(deliveries) != 1 || deliveries[0].Object == nil {
		return nil, shown{}, fmt.Errorf("the manifest of %s does not hold one %s and nothing else: %w", ref, ref.Kind,
			node.ErrInvalid)
	}
	if got := deliveries[0].Object.Ref(); got != ref {
		return nil, shown{}, fmt.Errorf("the manifest is of %s, but the path names %s: %w", got, ref, node.ErrInvalid)
	}
	outcomes, _, err := s.intake.Apply(deliveries, s.now())
	if err != nil {
		return nil, shown{}, err
	}
	object, ok := s.store.Object(ref)
	if !ok {
		return nil, shown{}, fmt.Errorf("%s: %w", ref, node.ErrNotFound)
	}
	return outcomeOf(outcomes[0]), asShown(object, false), nil
}

func (s objects) delete(ref node.ObjectRef) error { return s.intake.DeleteObject(ref, s.now()) }

// why returns the reason why an object's data cannot be read, or nothing.
func (s shown) why() string {
	if s.Locked == nil {
		return ""
	}
	return s.Locked.Error()
}

// asStruct returns an object as Kubernetes shows it.
func asStruct(o shown) (*structpb.Struct, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.Value)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", o.Ref(), err)
	}
	encoded, err := structpb.NewStruct(fields)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", o.Ref(), err)
	}
	return encoded, nil
}
