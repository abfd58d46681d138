package rules

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// MostManagedBytes bounds the managed fields of an object: the fields of each manager that has set some.
	MostManagedBytes = 256 << 10
	// deepestManaged is far more than any field has. What lies deeper could not be sent over gRPC.
	deepestManaged = 64
)

// ManagedFields checks the managed fields of an object.
func ManagedFields(entries []metav1.ManagedFieldsEntry) field.ErrorList {
	path := field.NewPath("metadata", "managedFields")
	size := 0
	for i := range entries {
		fields := entries[i].FieldsV1
		if fields == nil {
			continue
		}
		size += len(fields.GetRawBytes())
		if depth(fields.GetRawBytes()) > deepestManaged {
			return field.ErrorList{field.Invalid(path.Index(i).Child("fieldsV1"), "", "must not nest fields more than 64 levels deep")}
		}
	}
	if size > MostManagedBytes {
		return field.ErrorList{field.TooLong(path, "", MostManagedBytes)}
	}
	return validation.ValidateManagedFields(entries, path)
}

// depth returns how deep the objects and lists of a JSON text lie in each other.
func depth(text []byte) (deepest int) {
	open, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			open++
			deepest = max(deepest, open)
		case c == '}' || c == ']':
			open--
		}
	}
	return deepest
}
