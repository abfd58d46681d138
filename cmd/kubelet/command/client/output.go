package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"
)

// printer shows items in one of the forms.
type printer struct {
	*session
	kind       kind
	namespaces bool // a column for them
	form       string
	path       *jsonpath.JSONPath
	table      *table
	first      [][]string // rows of a watch until it has sent what was there before
	live       bool       // that is over
}

// printer returns what shows the items in the wanted form.
func (g *getting) printer(s *session) (*printer, error) {
	p := &printer{session: s, kind: g.kind, form: g.output, namespaces: g.all && g.kind.namespaced}
	template, isPath := strings.CutPrefix(g.output, "jsonpath=")
	switch {
	case isPath:
		if !strings.Contains(template, "{") {
			template = "{" + template + "}"
		}
		p.form, p.path = "jsonpath", jsonpath.New("output").AllowMissingKeys(true)
		if err := p.path.Parse(template); err != nil {
			return nil, misuse("-o jsonpath=%s: %v", template, err)
		}
	case g.output != "" && !slices.Contains([]string{"wide", "json", "yaml", "name"}, g.output):
		return nil, misuse("-o %s: want wide, json, yaml, name or jsonpath=TEMPLATE", g.output)
	}
	p.table = &table{out: s.Out, wide: g.output == "wide", head: p.heads(g.watch)}
	return p, nil
}

func (p *printer) isTable() bool { return p.form == "" || p.form == "wide" }

// heads names the columns.
func (p *printer) heads(watch bool) []string {
	return p.row(watch, "EVENT", "NAMESPACE", "NAME", p.kind.heads, p.kind.wide)
}

// row puts cells in their order.
func (p *printer) row(watch bool, change, namespace, name string, cells, wide []string) (row []string) {
	if watch {
		row = append(row, change)
	}
	if p.namespaces {
		row = append(row, namespace)
	}
	row = append(row, name)
	last := len(cells) - 1
	row = append(row, cells[:last]...)
	if p.form == "wide" {
		row = append(row, wide...)
	}
	return append(row, cells[last])
}

// list shows items as a list.
func (p *printer) list(items []item) error {
	switch {
	case p.isTable():
		rows := make([][]string, len(items))
		for i, it := range items {
			rows[i] = p.row(false, "", it.namespace, it.name, it.cells, it.wide)
		}
		return p.table.print(rows...)
	case p.form == "name":
		for _, it := range items {
			fmt.Fprintf(p.Out, "%s/%s\n", it.kind, printable(it.name))
		}
		return nil
	}
	objects := make([]any, len(items))
	for i, it := range items {
		objects[i] = it.object
	}
	return p.whole(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
}

// one shows a single item.
func (p *printer) one(it item) error {
	if p.isTable() || p.form == "name" {
		return p.list([]item{it})
	}
	return p.whole(it.object)
}

// changed shows an item that a watch has told of. What was there before becomes one table, so that its columns fit.
func (p *printer) changed(change string, it item) error {
	switch {
	case change == synced:
		p.live = true
		if !p.isTable() {
			return nil
		}
		return p.table.print(p.first...)
	case p.isTable():
		row := p.row(true, change, it.namespace, it.name, it.cells, it.wide)
		if p.live {
			return p.table.print(row)
		}
		p.first = append(p.first, row)
		return nil
	}
	if p.form == "yaml" {
		fmt.Fprintln(p.Out, "---")
	}
	err := p.one(it)
	if p.path != nil {
		fmt.Fprintln(p.Out)
	}
	return err
}

// whole prints an object in the form.
func (p *printer) whole(object map[string]any) error {
	switch p.form {
	case "json":
		e := json.NewEncoder(p.Out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(object)
	case "yaml":
		text, err := yaml.Marshal(object)
		if err == nil {
			_, err = p.Out.Write(text)
		}
		return err
	}
	var found strings.Builder
	if err := p.path.Execute(&found, object); err != nil {
		return fmt.Errorf("-o jsonpath: %w", err)
	}
	text := found.String()
	if _, ok := terminal(p.Out); ok {
		text = printable(text) + "\n"
	}
	_, err := fmt.Fprint(p.Out, text)
	return err
}

// nothing says that there is nothing to list.
func (g *getting) nothing(s *session) error {
	where := ""
	if g.kind.namespaced && !g.all {
		where = " in namespace " + g.namespace + "; -A shows all namespaces"
	}
	s.note(fmt.Errorf("no %s%s", g.kind.name, where))
	return nil
}

// missing says of a thing that is not there how to find those that are.
func (g *getting) missing(err error, name string) error {
	if status.Code(err) != codes.NotFound {
		return err
	}
	if !g.kind.namespaced {
		return fmt.Errorf("%s; kubelet get %s lists them", status.Convert(err).Message(), g.kind.name)
	}
	list := "kubelet get " + g.kind.name + " -A lists them all"
	if near := nearest(name, g.kindWords()); near != "" && g.kind.name == "pods" {
		list += ", and " + near + " is a kind"
	}
	return errors.New(status.Convert(err).Message() + "; " + list)
}

func (g *getting) kindWords() (all []string) {
	for _, k := range kinds() {
		all = append(append(all, k.name), k.aliases...)
	}
	return all
}

// note prints something beside the output.
func (s *session) note(err error) { fmt.Fprintln(s.Err, printable(s.explain(err))) }
