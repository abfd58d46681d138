package manifest

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodal/node"
	"nodal/node/manifest/rules"
)

// place says where in a bundle a violation is.
type place struct {
	document int
	object   string // "Pod default/web", as far as it is known
	prefix   string // "items[3]" in a list
}

// name learns the object's name from its raw metadata, before anything is checked.
func (p *place) name(kind string, metadata json.RawMessage) {
	var meta struct {
		Name      json.RawMessage `json:"name"`
		Namespace json.RawMessage `json:"namespace"`
	}
	p.object = rules.Clip(kind)
	if json.Unmarshal(metadata, &meta) != nil {
		return
	}
	name, namespace := textOf(meta.Name), textOf(meta.Namespace)
	if kind == "" || name == "" {
		return
	}
	if namespace == "" {
		namespace = defaultNamespace
	}
	p.object = fmt.Sprintf("%s %s/%s", rules.Clip(kind), rules.Clip(namespace), rules.Clip(name))
}

func (p place) field(path string) string {
	switch {
	case p.prefix == "":
		return path
	case path == "":
		return p.prefix
	default:
		return p.prefix + "." + path
	}
}

// violations collects what is wrong with a bundle.
type violations struct {
	count int // of all, those beyond node.MaxViolations too
	shown []node.Violation
}

func (v *violations) add(at place, path, rule string) {
	v.count++
	if len(v.shown) < node.MaxViolations {
		v.shown = append(v.shown, node.Violation{
			Document: at.document, Object: at.object, Field: at.field(path), Rule: rule,
		})
	}
}

func (v *violations) addFieldErrors(at place, errs field.ErrorList) {
	for _, err := range errs {
		v.add(at, err.Field, clipRule(err.ErrorBody()))
	}
}

// invalid returns the error of all violations, or nil if there is none.
func (v *violations) invalid() error {
	return node.Invalid(v.shown, v.count-len(v.shown))
}

// clipRule shortens a sentence that quotes a long value at its front and keeps the
// rule at its end.
func clipRule(s string) string {
	const maxQuoted, most = 128, 512
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:maxQuoted]+"..."+s[len(s)-(most-maxQuoted):], "")
}
