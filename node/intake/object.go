package intake

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"nodal/node"
	"nodal/node/store"
)

// applyObject takes an object that pods use. Pods see the change; none restarts for it.
func (in Intake) applyObject(tx *store.Tx, d Delivery, now time.Time) (Outcome, error) {
	ref := d.Object.Ref()
	outcome := Outcome{Object: ref}
	old, err := replaceable(tx.Object(ref))
	if err != nil {
		return Outcome{}, err
	}
	if err := errors.Join(in.permittedPlace(d), in.others(old)); err != nil {
		return Outcome{}, err
	}
	if err := permittedStorage(d, old); err != nil {
		return Outcome{}, err
	}
	if err := in.permittedPolicy(d); err != nil {
		return Outcome{}, err
	}
	if err := permittedDefault(tx, d); err != nil {
		return Outcome{}, err
	}
	if err := in.permittedService(d); err != nil {
		return Outcome{}, err
	}
	if outcome.Warnings, err = in.permittedWorkload(tx, d, old); err != nil {
		return Outcome{}, err
	}
	if old == nil {
		if wrong := in.beyond(d, Created); len(wrong) > 0 {
			return Outcome{}, refusal(d, wrong)
		}
		made := d.Object.Clone()
		made.Meta().UID = in.NewUID()
		made.Meta().CreationTimestamp = metav1.NewTime(now.Truncate(time.Second))
		begin(made)
		if outcome.Warnings, err = in.serve(tx, d, made, nil, outcome.Warnings); err != nil {
			return Outcome{}, err
		}
		tx.PutObject(in.mark(made, d))
		outcome.UID, outcome.Verdict = made.Meta().UID, Created
		return outcome, nil
	}
	next := in.mark(continued(old, d.Object), d)
	if outcome.Warnings, err = in.serve(tx, d, next, old, outcome.Warnings); err != nil {
		return Outcome{}, err
	}
	outcome.UID = old.Meta().UID
	outcome.Changes = changes(old, next)
	if len(outcome.Changes) == 0 && old.Source == next.Source && old.Origin == next.Origin {
		return outcome, nil
	}
	if err := permitted(d, old, outcome.Changes); err != nil {
		return Outcome{}, err
	}
	if wrong := in.beyond(d, Updated); len(wrong) > 0 && !keepsTemplate(d, old) {
		return Outcome{}, refusal(d, wrong)
	}
	counted(next, outcome.Changes)
	tx.PutObject(next)
	outcome.Verdict = Updated
	return outcome, nil
}

// replaceable returns an object that a manifest is compared with. One whose data is lost counts as gone: posting it again is
// the remedy. One that may be read again later is refused by name.
func replaceable(old *node.Object) (*node.Object, error) {
	if old == nil {
		return nil, nil
	}
	err := old.Readable()
	if errors.Is(err, node.ErrLost) {
		return nil, nil
	}
	return old, err
}

// permitted refuses a change that Kubernetes forbids.
func permitted(d Delivery, old *node.Object, changes []string) error {
	kind, _ := node.KindNamed(string(old.Kind))
	for _, field := range kind.Fixed {
		if slices.Contains(changes, field) {
			return invalid(d, field, fmt.Sprintf("is immutable; delete the %s first", kind.Name))
		}
	}
	if old.Immutable() && !d.Object.Immutable() {
		return invalid(d, "immutable", "is set and cannot be taken back; delete the object first")
	}
	if old.Immutable() && !old.SameData(d.Object) {
		return invalid(d, "data", "is immutable, because immutable is set; delete the object first")
	}
	return nil
}

// changes lists the paths in which two objects differ, without their values.
func changes(old, delivered *node.Object) []string {
	var paths []string
	note := func(path string, same bool) {
		if !same {
			paths = append(paths, path)
		}
	}
	was, is := old.Data(), delivered.Data()
	for _, key := range slices.Sorted(maps.Keys(union(was, is))) {
		before, had := was[key]
		after, has := is[key]
		note("data["+key+"]", had == has && string(before) == string(after))
	}
	note("immutable", old.Immutable() == delivered.Immutable())
	note("metadata.annotations", maps.Equal(old.Meta().Annotations, delivered.Meta().Annotations))
	note("metadata.labels", maps.Equal(old.Meta().Labels, delivered.Meta().Labels))
	note("metadata.ownerReferences", apiequality.Semantic.DeepEqual(old.Meta().OwnerReferences, delivered.Meta().OwnerReferences))
	note(managedFields, apiequality.Semantic.DeepEqual(old.Meta().ManagedFields, delivered.Meta().ManagedFields))
	said := authored(delivered)
	for i, had := range authored(old) {
		note(had.name, apiequality.Semantic.DeepEqual(had.value, said[i].value))
	}
	return paths
}

// part is one top-level field of an object.
type part struct {
	name  string
	value any
}

// compared lists the fields that changes does not compare as a whole: those of every kind, those
// that the node writes, and those behind Object.Data and Object.Immutable.
var compared = []string{"TypeMeta", "ObjectMeta", "Status", "Data", "BinaryData", "StringData", "Immutable"}

// authored returns the other fields of an object, in the order of its type.
func authored(o *node.Object) []part {
	var parts []part
	value := reflect.ValueOf(o.Value).Elem()
	for i := range value.NumField() {
		field := value.Type().Field(i)
		if !slices.Contains(compared, field.Name) || field.Type == reflect.TypeFor[runtime.RawExtension]() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			parts = append(parts, part{name, value.Field(i).Interface()})
		}
	}
	return parts
}

func union(a, b map[string][]byte) map[string][]byte {
	all := maps.Clone(a)
	if all == nil {
		all = map[string][]byte{}
	}
	maps.Copy(all, b)
	return all
}
