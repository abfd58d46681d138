package oracle

import (
	"encoding/json"
	"errors"
	"strings"

	"nodal/node"
	"nodal/node/manifest"
)

// unsupported begins the message for a manifest that is valid, but not for this node.
const unsupported = "not supported by this node"

// Node returns the verdict of our own validation.
func Node(c Case) (Verdict, error) {
	text, err := json.Marshal(c.Object)
	if err != nil {
		return Verdict{}, err
	}
	_, err = manifest.Decode(text, manifest.Options{})
	var invalid *node.InvalidError
	switch {
	case err == nil:
		return Verdict{Taken: true}, nil
	case !errors.As(err, &invalid):
		return Verdict{}, err
	}
	var fields []string
	for _, v := range invalid.Violations {
		switch {
		case strings.Contains(v.Rule, unsupported):
		case undecodable(v.Rule):
			return refused(nil, err.Error()), nil
		default:
			fields = append(fields, v.Field)
		}
	}
	if len(fields) == 0 {
		return Verdict{Taken: true}, nil
	}
	return refused(fields, err.Error()), nil
}

// undecodable reports whether a rule is about a value that does not decode. The API server reports
// only the first of those, without its field.
func undecodable(rule string) bool {
	return strings.Contains(rule, "unknown field") || strings.HasPrefix(rule, "must be well formed") ||
		strings.Contains(rule, " is not a quantity; ") ||
		strings.HasPrefix(rule, "must be ") && strings.Contains(rule, ", not ")
}
