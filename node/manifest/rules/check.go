package rules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxQuoted limits the part of a rejected value that an error repeats.
const maxQuoted = 128

// check collects the violations of one object. Its methods are the vocabulary of the
// rules: each says where, what was found and what has to hold.
type check struct{ errs field.ErrorList }

// bad reports a value that breaks a rule.
func (c *check) bad(at *field.Path, value any, rule string) {
	if s, ok := value.(string); ok {
		value = Clip(s)
	}
	c.errs = append(c.errs, field.Invalid(at, value, rule))
}

// badEach reports a value for each message of one of Kubernetes' own predicates.
func (c *check) badEach(at *field.Path, value any, messages []string) {
	for _, message := range messages {
		c.bad(at, value, message)
	}
}

// missing reports a field that has to be given.
func (c *check) missing(at *field.Path, why string) {
	c.errs = append(c.errs, field.Required(at, why))
}

// refused reports a field that may not be given.
func (c *check) refused(at *field.Path, why string) {
	c.errs = append(c.errs, field.Forbidden(at, why))
}

func (c *check) duplicate(at *field.Path, value string) {
	c.errs = append(c.errs, field.Duplicate(at, Clip(value)))
}

// name requires a value and holds it against one of Kubernetes' name predicates.
func (c *check) name(at *field.Path, value string, predicate func(string) []string) {
	if value == "" {
		c.missing(at, "")
		return
	}
	c.badEach(at, value, predicate(value))
}

// optionalName checks a name that may be left out.
func (c *check) optionalName(at *field.Path, value string, predicate func(string) []string) {
	if value != "" {
		c.name(at, value, predicate)
	}
}

// given requires a value to be there at all.
func (c *check) given(at *field.Path, value string) {
	if value == "" {
		c.missing(at, "")
	}
}

// oneOf requires one of an enumeration's values.
func oneOf[T ~string](c *check, at *field.Path, value T, allowed ...T) {
	switch {
	case slices.Contains(allowed, value):
	case value == "":
		c.missing(at, fmt.Sprintf("must be one of %q", allowed))
	default:
		c.errs = append(c.errs, field.NotSupported(at, Clip(string(value)), allowed))
	}
}

// optionalOneOf checks a value of an enumeration that may be left out.
func optionalOneOf[T ~string](c *check, at *field.Path, value *T, allowed ...T) {
	if value != nil {
		oneOf(c, at, *value, allowed...)
	}
}

func (c *check) notNegative(at *field.Path, value int64) {
	if value < 0 {
		c.bad(at, value, "must be greater than or equal to 0")
	}
}

func (c *check) between(at *field.Path, value, low, high int64) {
	if value < low || value > high {
		c.bad(at, value, fmt.Sprintf("must be between %d and %d", low, high))
	}
}

// unique reports a value that was seen before, and remembers it.
func (c *check) unique(at *field.Path, seen map[string]bool, value string) {
	if seen[value] {
		c.duplicate(at, value)
	}
	seen[value] = true
}

// exactlyOne requires one member of a union, no fewer and no more.
func (c *check) exactlyOne(at *field.Path, members ...member) {
	var names []string
	for _, m := range members {
		if m.given {
			names = append(names, m.name)
		}
	}
	switch len(names) {
	case 1:
	case 0:
		all := make([]string, len(members))
		for i, m := range members {
			all[i] = m.name
		}
		c.missing(at, fmt.Sprintf("must specify one of %q", all))
	default:
		c.bad(at, fmt.Sprint(names), "must specify only one of them")
	}
}

// member is one arm of a union.
type member struct {
	name  string
	given bool
}

// Clip shortens a value to the part that an error repeats.
func Clip(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	return strings.ToValidUTF8(s[:maxQuoted], "") + "..."
}
