package oracle

import (
	"encoding/json"
	"errors"
	"strings"

	"nodal/node"
	"nodal/node/manifest"
)

// unsupported begins the rule of what is sound as such and not for this node.
const unsupported = "not supported by this node"

// Node is the verdict of our own validation.
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

// undecodable says whether a rule is about what does not decode: the API server tells only
// its first, in words.
func undecodable(rule string) bool {
	return strings.Contains(rule, "unknown field") || strings.HasPrefix(rule, "must be well formed") ||
		strings.HasPrefix(rule, "must be ") && strings.Contains(rule, ", not ")
}
