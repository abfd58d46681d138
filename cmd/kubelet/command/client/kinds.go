package client

import (
	"context"
	"slices"
	"strings"

	"nodal/node"
)

// kind is a row of the table of things that get can show.
type kind struct {
	name       string          // as people write it
	aliases    []string        // further names
	object     node.ObjectKind // of the objects, if it is one of theirs
	namespaced bool
	unlabelled bool
	heads      []string // of its columns, after NAMESPACE and NAME; the last one may be shortened
	wide       []string // with -o wide alone, before the last one
	list       func(context.Context, *session, question) ([]item, error)
	get        func(ctx context.Context, s *session, ask question, name string) (item, error)
	watch      func(context.Context, *session, question, func(change string, i item) error) error
}

// question says what of a kind is asked for.
type question struct {
	namespace string // all if empty
	selector  string
	values    bool // of Secrets too
}

// item is one thing to show.
type item struct {
	kind            string // in lower case, for -o name
	namespace, name string
	cells, wide     []string       // as many as the kind has heads
	object          map[string]any // as Kubernetes has it, or else as the API has it
}

// kinds returns the table of kinds.
func kinds() []kind {
	all := []kind{podKind()}
	for _, k := range node.Kinds() {
		all = append(all, objectKind(k))
	}
	return append(all, nodeKind(), eventKind(), imageKind())
}

// moreNames are names of kinds that kubectl does not know.
var moreNames = map[node.ObjectKind][]string{node.PersistentVolume: {"volumes", "volume"}, node.PersistentVolumeClaim: {"claims", "claim"}}

func kindNamed(word string) (kind, bool) {
	word = strings.ToLower(word)
	for _, k := range kinds() {
		if word == k.name || slices.Contains(k.aliases, word) {
			return k, true
		}
	}
	return kind{}, false
}

// kindNames lists the kinds as people write them.
func kindNames() (names []string) {
	for _, k := range kinds() {
		name := k.name
		if len(k.aliases) > 0 {
			name += " (" + strings.Join(k.aliases, ", ") + ")"
		}
		names = append(names, name)
	}
	return names
}
