package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apijson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smd "sigs.k8s.io/structured-merge-diff/v6/typed"

	"nodal/node"
	"nodal/node/manifest/rules"
)

// owners keep account, in metadata.managedFields, of which manager has set which field of the objects of a resource. The
// rules are upstream's, and the code that applies them is too. What it needs is made when it is first used.
type owners func() (*managedfields.FieldManager, error)

func ownersOf(r *resource) owners {
	return sync.OnceValues(func() (*managedfields.FieldManager, error) {
		status := fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie("status")))
		return managedfields.NewDefaultFieldManager(converter{mergeTypeOf(r.object)}, oneVersion{}, oneVersion{}, oneVersion{},
			r.GroupVersionKind, r.GroupVersion(), "", map[fieldpath.APIVersion]fieldpath.Filter{
				fieldpath.APIVersion(r.GroupVersion().String()): status,
			})
	})
}

// applied returns the live object with what a manager wants of it. Fields that it wanted before and does not want any more
// go. A field that another manager has set otherwise is a conflict, unless force takes it over.
func (o owners) applied(live, wanted *object, manager string, force bool) (*object, error) {
	fields, err := o()
	if err != nil {
		return nil, err
	}
	if managedfields.ValidateManagedFields(live.GetManagedFields()) != nil {
		live = live.DeepCopy()
		live.SetManagedFields(nil)
	}
	made, err := fields.Apply(live, wanted.DeepCopy(), manager, force)
	if known := apierrors.APIStatus(nil); errors.As(err, &known) {
		return nil, err
	}
	if err != nil { // it names what the object's type has no place for
		return nil, fmt.Errorf("%s: %w", shortened(err.Error()), node.ErrInvalid)
	}
	after := made.(*object)
	if len(after.GetManagedFields()) == 0 && len(live.GetManagedFields()) == 0 {
		after.SetManagedFields(nil)
	}
	if size := sizeOf(after); size > rules.MostManagedBytes {
		return nil, fmt.Errorf("metadata.managedFields: the fields of all managers take %d bytes, and at most %d are kept; apply fewer fields: %w",
			size, rules.MostManagedBytes, node.ErrTooLarge)
	}
	return after, nil
}

// updated returns a changed object with a note that the manager has set what differs from the live one. An object with
// more fields than can be noted has no notes at all: a change by other means than apply does not fail for them.
func (o owners) updated(live, given *object, manager string) (*object, error) {
	fields, err := o()
	if err != nil {
		return nil, err
	}
	if live, err = plain(live); err != nil {
		return nil, err
	}
	if given, err = plain(given); err != nil {
		return nil, err
	}
	_, resets := given.Object["metadata"].(map[string]any)["managedFields"]
	made, err := fields.Update(live, given.DeepCopy(), manager)
	if err != nil { // the node says what is wrong with the object
		given.SetManagedFields(nil)
		return given, nil
	}
	after := made.(*object)
	switch entries := after.GetManagedFields(); {
	case sizeOf(after) > rules.MostManagedBytes:
		forget(after)
	case len(entries) > 0:
	case resets || len(live.GetManagedFields()) > 0:
		forget(after)
	default:
		after.SetManagedFields(nil)
	}
	return after, nil
}

// forget has the node forget the managers of an object.
func forget(o *object) { o.Object["metadata"].(map[string]any)["managedFields"] = []any{} }

func sizeOf(o *object) int {
	text, _ := json.Marshal(o.Object["metadata"].(map[string]any)["managedFields"]) // it came from JSON
	return len(text)
}

// plain returns a copy of an object in which whole numbers are no fractions.
func plain(o *object) (*object, error) {
	text, err := json.Marshal(o.Object)
	if err != nil {
		return nil, err
	}
	made := &object{}
	if err := apijson.Unmarshal(text, &made.Object); err != nil {
		return nil, err
	}
	if _, ok := made.Object["metadata"].(map[string]any); !ok {
		made.Object["metadata"] = map[string]any{}
	}
	return made, nil
}

// mostWords bounds an error that may list each field of an object.
const mostWords = 2000

func shortened(text string) string {
	if len(text) > mostWords {
		return text[:mostWords] + "..."
	}
	return text
}

// converter turns objects of one type into values that can be merged.
type converter struct{ of smd.ParseableType }

var _ managedfields.TypeConverter = converter{}

func (c converter) ObjectToTyped(o runtime.Object, options ...smd.ValidationOptions) (*smd.TypedValue, error) {
	return c.of.FromUnstructured(o.(*object).Object, options...)
}

func (c converter) TypedToObject(value *smd.TypedValue) (runtime.Object, error) {
	fields, ok := value.AsValue().Unstructured().(map[string]any)
	if !ok {
		return nil, fmt.Errorf("what the apply makes is not an object: %w", node.ErrInvalid)
	}
	return &object{Object: fields}, nil
}

// oneVersion converts objects whose kinds have one version. The node sets their defaults.
type oneVersion struct{}

func (oneVersion) Convert(_, _, _ any) error { return errOneVersion }

var errOneVersion = errors.New("the kinds of a node have one version")

// ConvertToVersion returns an object of that version as it is. Others are not known.
func (oneVersion) ConvertToVersion(o runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	is := o.GetObjectKind().GroupVersionKind()
	if wanted, ok := to.KindForGroupVersionKinds([]schema.GroupVersionKind{is}); !ok || wanted != is {
		return nil, runtime.NewNotRegisteredErrForTarget("the node", nil, to)
	}
	return o, nil
}

func (oneVersion) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", errOneVersion
}

func (oneVersion) Default(runtime.Object) {}

func (oneVersion) New(of schema.GroupVersionKind) (runtime.Object, error) {
	return emptyObject(of), nil
}

func emptyObject(of schema.GroupVersionKind) *object {
	made := &object{Object: map[string]any{"metadata": map[string]any{}}}
	made.SetGroupVersionKind(of)
	return made
}
