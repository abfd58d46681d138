package client

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"nodal/node"
)

// scope holds the flags that say of which namespace a verb is.
type scope struct {
	namespace string
	all       bool
}

func (n *scope) bind(flags *pflag.FlagSet) {
	flags.StringVarP(&n.namespace, "namespace", "n", "default", "`namespace`")
	flags.BoolVarP(&n.all, "all-namespaces", "A", false, "all namespaces")
}

// of returns the namespace to ask for. It is empty for all.
func (n scope) of() string {
	if n.all {
		return ""
	}
	return n.namespace
}

// getting is one call of get.
type getting struct {
	scope
	kind     kind
	names    []string
	selector string
	output   string
	watch    bool
}

func getVerb() Verb {
	return Verb{
		Name: "get", Words: "KIND [NAME...] | POD...", Short: "list pods and what else the node has",
		Long: "Kinds:\n" + indented(strings.Join(kindNames(), "\n")) + `

Values of Secrets are shown by -o yaml, json and jsonpath alone, and only to admins. In tables the last column is
shortened to a width of 120; -o wide shortens nothing.`,
		Example: `kubelet get pods -A
kubelet get web -o yaml
kubelet get pods -l app=web -o jsonpath='{.items[*].status.podIP}'
kubelet get claims -w`,
		Bind: func(flags *pflag.FlagSet) action {
			var g getting
			g.scope.bind(flags)
			flags.StringVarP(&g.selector, "selector", "l", "", "only what these `labels` fit, such as app=web,tier!=test")
			flags.StringVarP(&g.output, "output", "o", "", "`form`: wide, json, yaml, name or jsonpath=TEMPLATE")
			flags.BoolVarP(&g.watch, "watch", "w", false, "go on with each change")
			return func(ctx context.Context, s *session, words []string) error {
				if err := g.read(words); err != nil {
					return err
				}
				return g.run(ctx, s)
			}
		},
	}
}

// read reads the words: a kind and names, kind/name, or names of pods.
func (g *getting) read(words []string) error {
	if len(words) == 0 {
		return misuse("kind missing: want one of %s, or the name of a pod", strings.Join(kindNames(), ", "))
	}
	first, rest := words[0], words[1:]
	if name, after, ok := strings.Cut(first, "/"); ok {
		first, rest = name, append([]string{after}, rest...)
	}
	k, ok := kindNamed(first)
	if !ok && strings.Contains(words[0], "/") {
		return misuse("unknown kind %q; want one of %s", first, strings.Join(kindNames(), ", "))
	}
	if !ok {
		k, _ = kindNamed("pods")
		rest = words
	}
	g.kind, g.names = k, rest
	if g.selector != "" && k.unlabelled {
		return misuse("%s have no labels to select by: leave -l out", k.name)
	}
	if g.selector != "" && len(g.names) > 0 {
		return misuse("give names or -l, not both")
	}
	if len(g.names) > 0 && g.all {
		return misuse("a name is of one namespace: give -n in place of -A")
	}
	return nil
}

// run shows what there is, and with -w each change.
func (g *getting) run(ctx context.Context, s *session) error {
	show, err := g.printer(s)
	if err != nil {
		return err
	}
	ask := question{namespace: g.of(), selector: g.selector, values: g.showsValues()}
	if !g.kind.namespaced {
		ask.namespace = ""
	}
	if g.watch {
		wanted := func(i item) bool { return len(g.names) == 0 || slices.Contains(g.names, i.name) }
		return streamEnd(ctx, g.kind.watch(ctx, s, ask, func(change string, i item) error {
			if change != synced && !wanted(i) {
				return nil
			}
			return show.changed(change, i)
		}))
	}
	if len(g.names) == 0 {
		items, err := g.kind.list(ctx, s, ask)
		if err != nil {
			return err
		}
		if len(items) == 0 && show.isTable() {
			return g.nothing(s)
		}
		return show.list(items)
	}
	return g.single(ctx, s, ask, show)
}

// single shows things by name. It goes on after one that is not there.
func (g *getting) single(ctx context.Context, s *session, ask question, show *printer) error {
	var items []item
	var failed error
	for _, name := range g.names {
		i, err := g.kind.get(ctx, s, ask, name)
		if err != nil {
			err = g.missing(err, name)
			if failed != nil {
				s.note(failed)
			}
			failed = err
			continue
		}
		items = append(items, i)
	}
	var err error
	switch {
	case len(g.names) == 1 && len(items) == 1:
		err = show.one(items[0])
	case len(items) > 0:
		err = show.list(items)
	}
	if err != nil {
		return err
	}
	return failed
}

// showsValues reports whether the output has room for the values of Secrets.
func (g *getting) showsValues() bool {
	return g.kind.object == node.Secret && (g.output == "yaml" || g.output == "json" || strings.HasPrefix(g.output, "jsonpath="))
}
