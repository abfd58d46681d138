package kube

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
)

// columns turn the objects of a resource into rows for people.
type columns struct {
	heads []metav1.TableColumnDefinition
	cells func(*object) []any // as many as there are heads
}

// column is a head. A wide one is shown with -o wide alone.
func column(name, kind string, wide bool) metav1.TableColumnDefinition {
	priority := int32(0)
	if wide {
		priority = 1
	}
	format := ""
	if name == "Name" {
		format = "name"
	}
	return metav1.TableColumnDefinition{Name: name, Type: kind, Format: format, Priority: priority}
}

// heads makes columns of texts with these names. Those in wide are shown with -o wide alone.
func heads(names []string, wide ...string) (all []metav1.TableColumnDefinition) {
	for _, name := range names {
		all = append(all, column(name, "string", false))
	}
	for _, name := range wide {
		all = append(all, column(name, "string", true))
	}
	return all
}

// table returns objects as rows.
func (c columns) table(all []*object, meta metav1.ListMeta) *metav1.Table {
	made := &metav1.Table{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"}, ListMeta: meta,
		ColumnDefinitions: c.heads, Rows: make([]metav1.TableRow, len(all)),
	}
	for i, o := range all {
		text, _ := json.Marshal(metaOf(o)) // it came from JSON
		made.Rows[i] = metav1.TableRow{Cells: c.cells(o), Object: runtime.RawExtension{Raw: text}}
	}
	return made
}

// typed has cells made from a typed object.
func typed[T any](cells func(*T) []any) func(*object) []any {
	return func(o *object) []any {
		into := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
			return []any{o.GetName()}
		}
		return cells(into)
	}
}

const unknown = "<unknown>"

// ageOf says how long ago something was.
func ageOf(at metav1.Time) string {
	if at.IsZero() {
		return unknown
	}
	return duration.HumanDuration(time.Since(at.Time))
}
