package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Verb groups requests. All but Secrets and Refusals are the rights that requests need.
type Verb string

const (
	Read     Verb = "read"
	Secrets  Verb = "secrets" // a read that shows values of Secrets
	Write    Verb = "write"
	Exec     Verb = "exec"
	Admin    Verb = "admin"
	Refusals Verb = "denied" // a request of any verb that is not allowed
)

// Level says how much of a request is kept.
type Level string

const (
	Off      Level = "off"
	Metadata Level = "metadata" // the caller, the object, the outcome
	Requests Level = "requests" // the request as well, without values of Secrets and commands
)

// Policy holds the level of each verb.
type Policy map[Verb]Level

// DefaultPolicy keeps the metadata of everything but ordinary reads.
func DefaultPolicy() Policy {
	return Policy{Read: Off, Secrets: Metadata, Write: Metadata, Exec: Metadata, Admin: Metadata, Refusals: Metadata}
}

// Set changes the level of one verb, both as the owner of the node wrote them.
func (p Policy) Set(verb, level string) error {
	if _, known := DefaultPolicy()[Verb(verb)]; !known {
		return fmt.Errorf("verb %q is none of %s", verb, words(slices.Sorted(maps.Keys(DefaultPolicy()))))
	}
	levels := []Level{Off, Metadata, Requests}
	if !slices.Contains(levels, Level(level)) {
		return fmt.Errorf("level %q is none of %s", level, words(levels))
	}
	p[Verb(verb)] = Level(level)
	return nil
}

// Silent reports whether the policy keeps nothing.
func (p Policy) Silent() bool {
	for _, level := range p {
		if level != Off {
			return false
		}
	}
	return true
}

// Fields selects the parts of an entry that can be left out. The caller, the verb, the method, the decision and the
// outcome are always there.
type Fields struct {
	From    bool // the caller's address
	Groups  bool // of the caller
	Object  bool // what the request is about
	Command bool // hash and length of a command
}

// DefaultFields leaves out the groups, which repeat in every entry of a caller.
func DefaultFields() []string { return []string{"from", "object", "command"} }

// FieldsNamed returns the named fields.
func FieldsNamed(names []string) (Fields, error) {
	var f Fields
	for _, name := range names {
		switch name {
		case "from":
			f.From = true
		case "groups":
			f.Groups = true
		case "object":
			f.Object = true
		case "command":
			f.Command = true
		default:
			return f, fmt.Errorf("field %q is none of from, groups, object, command", name)
		}
	}
	return f, nil
}

// Keep returns the entry without the fields that are not selected.
func (f Fields) Keep(e Entry) Entry {
	if !f.From {
		e.From = ""
	}
	if !f.Groups {
		e.Groups = nil
	}
	if !f.Object {
		e.Object, e.Objects, e.MoreObjects, e.Container = nil, nil, 0, ""
	}
	if !f.Command {
		e.Command = nil
	}
	return e
}

func words[T ~string](all []T) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = string(one)
	}
	return strings.Join(texts, ", ")
}
