package capability

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
)

// Support says what this node does with a field.
type Support uint8

const (
	Honoured Support = iota
	WithoutEffect
	Refused
)

func (s Support) String() string {
	return [...]string{"honoured", "without effect", "refused"}[s]
}

// Entry is the answer for one field and the fields below it, unless those have
// entries of their own.
type Entry struct {
	Field   string // "spec.containers.env", without indexes; a star is any other key
	Support Support
	Note    string
}

// rule is a line of the table.
type rule struct {
	Entry
	normal any  // the value that Kubernetes itself fills in: no warning for it
	silent bool // written by others than the pod's author: no warning at all
	// claims says that the field is honoured in a pod that brings its resource claims.
	claims bool
}

// Table returns the answer for every field, sorted by field.
func Table() []Entry {
	rules := allRules()
	entries := make([]Entry, len(rules))
	for i, r := range rules {
		entries[i] = r.Entry
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Field, b.Field) })
	return entries
}

// MostContainers bounds the containers of a pod. What the node works out for one looks at the others: tens of thousands, for
// which a manifest has room, would keep it busy for minutes at each change.
const MostContainers = 500

// Check holds a defaulted pod against the table. It returns a warning for every field without
// effect, and a violation for every field that is refused.
func Check(pod *corev1.Pod) (warnings []string, refused []node.Violation) {
	spec := &pod.Spec
	if n := len(spec.Containers) + len(spec.InitContainers) + len(spec.EphemeralContainers); n > MostContainers {
		rule := fmt.Sprintf("not supported by this node: a pod may have %d containers, and this one has %d", MostContainers, n)
		return nil, []node.Violation{{Field: "spec.containers", Rule: rule}}
	}
	report := func(at *field.Path, r *rule) {
		if r.Support == Refused && r.claims && node.BringsClaims(pod) {
			return
		}
		if r.Support == Refused {
			refused = append(refused, node.Violation{Field: at.String(), Rule: "not supported by this node: " + r.Note})
			return
		}
		warnings = append(warnings, fmt.Sprintf("%s has no effect on this node: %s", at, r.Note))
	}
	tree().visit(reflect.ValueOf(pod), nil, report)
	return warnings, refused
}

// tree is the table in the shape of a pod; made once, since it never changes.
var tree = sync.OnceValue(func() *branch { return grow(reflect.TypeFor[corev1.Pod](), allRules()) })

func allRules() []rule {
	return slices.Concat(
		metadataRules(), podRules(), wholeRules(), podSecurityRules(), volumeRules(),
		containerRules("spec.containers"), containerRules("spec.initContainers"), ephemeralRules(),
	)
}

func honoured(field, note string) rule {
	return rule{Entry: Entry{Field: field, Support: Honoured, Note: note}}
}

func without(field, note string) rule {
	return rule{Entry: Entry{Field: field, Support: WithoutEffect, Note: note}}
}

func refuses(field, note string) rule {
	return rule{Entry: Entry{Field: field, Support: Refused, Note: note}}
}

func (r rule) unless(normal any) rule {
	r.normal = normal
	return r
}

func (r rule) unlessBrought() rule {
	r.claims = true
	return r
}

func (r rule) silently() rule {
	r.silent = true
	return r
}
