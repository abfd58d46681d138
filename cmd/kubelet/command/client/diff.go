package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

func diffVerb() Verb {
	return Verb{
		Name: "diff", Words: "-f FILE", Short: "show each field that apply would change, with both values",
		Long:    "A field that the manifest leaves out gets its default. Values of Secrets are not shown.",
		Example: "kubelet diff -f web.yaml --exit-code",
		Bind: func(flags *pflag.FlagSet) action {
			var p planning
			p.bind(flags)
			return func(ctx context.Context, s *session, words []string) error {
				text, all, err := p.ask(ctx, s, words)
				if err != nil {
					return err
				}
				wanted, err := documents(text)
				if err != nil {
					return err
				}
				for _, o := range all {
					if err := s.diff(ctx, o, wanted); err != nil {
						return err
					}
				}
				return p.result(all)
			}
		},
	}
}

// document is one manifest.
type document map[string]any

// documents reads the manifests of a bundle, those of lists too. The node has found them sound.
func documents(text string) (all []document, err error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		part, err := reader.Read()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		var d document
		if err := yaml.Unmarshal(part, &d); err != nil {
			return nil, err
		}
		items, isList := d["items"].([]any)
		if !isList {
			all = append(all, d)
		}
		for _, item := range items {
			if fields, ok := item.(map[string]any); ok {
				all = append(all, fields)
			}
		}
	}
}

// is reports whether the manifest is that of an outcome.
func (d document) is(o *nodev1.Outcome) bool {
	meta, _ := d["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
	if namespace == "" && o.GetNamespace() == "default" {
		namespace = "default"
	}
	return d["kind"] == o.GetKind() && meta["name"] == o.GetName() && namespace == o.GetNamespace()
}

// diff prints the changes of one pod or object.
func (s *session) diff(ctx context.Context, o *nodev1.Outcome, wanted []document) error {
	if o.GetResult() == nodev1.Result_RESULT_UNCHANGED {
		return nil
	}
	fmt.Fprintln(s.Out, cell(nameOf(o)+" would be "+resultOf(o.GetResult())))
	if o.GetResult() == nodev1.Result_RESULT_CREATED {
		return nil
	}
	there, err := s.present(ctx, o)
	if err != nil {
		return err
	}
	var next document
	for _, d := range wanted {
		if d.is(o) {
			next = d
		}
	}
	for _, field := range o.GetChanges() {
		fmt.Fprintln(s.Out, "  "+cell(field))
		if node.ObjectKind(o.GetKind()) == node.Secret {
			continue
		}
		fmt.Fprintf(s.Out, "%s%s", side("    - ", there, field), side("    + ", next, field))
	}
	return nil
}

// present returns a pod or an object as it is.
func (s *session) present(ctx context.Context, o *nodev1.Outcome) (document, error) {
	k, ok := kindNamed(o.GetKind())
	if !ok {
		return nil, nil
	}
	i, err := k.get(ctx, s, question{namespace: o.GetNamespace()}, o.GetName())
	return i.object, err
}

// side shows a field of one side.
func side(mark string, d document, field string) string {
	value, found := valueAt(map[string]any(d), fieldPath(field))
	if !found {
		return mark + "(not set)\n"
	}
	text, err := json.Marshal(value)
	if s, isText := value.(string); isText {
		text = []byte(s)
	}
	if err != nil {
		return mark + "(unknown)\n"
	}
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		b.WriteString(mark + printable(line) + "\n")
	}
	return b.String()
}

// fieldPath splits the path of a field: spec.containers[0].image, or metadata.labels[a.b/c].
func fieldPath(field string) (names []string) {
	for field != "" {
		if rest, ok := strings.CutPrefix(field, "["); ok {
			name, after, _ := strings.Cut(rest, "]")
			names, field = append(names, name), strings.TrimPrefix(after, ".")
			continue
		}
		end := strings.IndexAny(field, ".[")
		if end < 0 {
			return append(names, field)
		}
		names, field = append(names, field[:end]), strings.TrimPrefix(field[end:], ".")
	}
	return names
}

// valueAt finds the value at a path. The data of a ConfigMap may be under other names.
func valueAt(value any, path []string) (any, bool) {
	for i, name := range path {
		switch of := value.(type) {
		case map[string]any:
			next, found := of[name]
			if i == 0 && name == "data" && len(path) > 1 {
				for _, other := range []string{"binaryData", "data"} {
					if fields, _ := of[other].(map[string]any); fields[path[1]] != nil {
						next, found = fields, true
					}
				}
			}
			if !found {
				return nil, false
			}
			value = next
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(of) {
				return nil, false
			}
			value = of[n]
		default:
			return nil, false
		}
	}
	return value, value != nil
}
