package manual

import (
	"cmp"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"
)

// reference is the page of the API. It is made of the OpenAPI document.
var reference = page{address: root + "openapi", title: "Reference of the API"}

// calls returns the HTML of all operations, by service.
func (a apiDocument) calls() (body string, sections []heading) {
	var out strings.Builder
	fmt.Fprintf(&out, "<h1>%s</h1>\n<p>%s</p>\n<p>For programs this is <a href=\"/openapi.json\">/openapi.json</a>, for which the node wants a sign-in.</p>\n",
		reference.title, prose(a.Info.Description))
	for _, tag := range a.Tags {
		fmt.Fprintf(&out, "<h2 id=\"%[1]s\">%[1]s</h2>\n<p>%[2]s</p>\n", html.EscapeString(tag.Name), prose(tag.Description))
		sections = append(sections, heading{tag.Name, tag.Name})
		for _, o := range a.operations(tag.Name) {
			out.WriteString(o.html())
		}
	}
	return out.String(), sections
}

// html shows an operation. It opens at a click, or if an address leads to it.
func (o operation) html() string {
	var out strings.Builder
	fmt.Fprintf(&out, "<section class=\"call\" id=\"%s\">\n<h3><span>%s</span> <code>%s</code></h3>\n<p>%s</p>\n",
		html.EscapeString(o.ID), html.EscapeString(o.Method), html.EscapeString(o.Path), prose(strings.TrimSpace(o.Summary+"\n"+o.Description)))
	out.WriteString("<details><summary>Parameters and answers</summary>\n")
	if len(o.Parameters) > 0 {
		rows := make([][]string, 0, len(o.Parameters))
		for _, p := range o.Parameters {
			where := "in the " + p.In
			if p.Required && p.In != "path" {
				where += ", needed"
			}
			rows = append(rows, []string{"<code>" + html.EscapeString(p.Name) + "</code>", p.Schema.html(), html.EscapeString(where), prose(p.Description)})
		}
		out.WriteString(tableOf([]string{"parameter", "type", "where", "meaning"}, rows))
	}
	var rows [][]string
	if o.RequestBody != nil {
		rows = append(rows, []string{"takes", o.RequestBody.html(), prose(o.RequestBody.Description)})
	}
	for _, code := range slices.Sorted(maps.Keys(o.Responses)) {
		answer := o.Responses[code]
		rows = append(rows, []string{html.EscapeString(cmp.Or(map[string]string{"default": "an error"}[code], code)), answer.html(), prose(answer.Description)})
	}
	out.WriteString(tableOf([]string{"body", "type", "meaning"}, rows))
	out.WriteString("</details>\n</section>\n")
	return out.String()
}

// html shows the forms of a body.
func (c content) html() string {
	var forms []string
	for _, media := range slices.Sorted(maps.Keys(c.Content)) {
		forms = append(forms, html.EscapeString(media)+": "+c.Content[media].Schema.html())
	}
	return strings.Join(forms, "<br>")
}

// html shows a type in a few words, with a link if it has a page.
func (s schema) html() string {
	switch {
	case s.Ref != "":
		name := s.schemaName()
		return fmt.Sprintf("<a href=\"%s/%s\">%s</a>", reference.address, html.EscapeString(name), html.EscapeString(shortName(name)))
	case s.Items != nil:
		return "list of " + s.Items.html()
	case s.Values.schema != nil:
		return "map of " + s.Values.html()
	case len(s.Enum) > 0:
		var all []string
		for _, value := range s.Enum {
			all = append(all, "<code>"+html.EscapeString(fmt.Sprint(value))+"</code>")
		}
		return strings.Join(all, ", ")
	case s.Format != "":
		return html.EscapeString(strings.Join(s.Type, " or ") + " (" + s.Format + ")")
	}
	return html.EscapeString(strings.Join(s.Type, " or "))
}

// shortName leaves the package of a type out.
func shortName(name string) string { return name[strings.LastIndex(name, ".")+1:] }

// page returns the HTML of one type.
func (s schema) page(name string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "<p><a href=\"%s\">%s</a></p>\n<h1>%s</h1>\n<p class=\"count\"><code>%s</code></p>\n",
		reference.address, reference.title, html.EscapeString(shortName(name)), html.EscapeString(name))
	if s.Description != "" {
		fmt.Fprintf(&out, "<p>%s</p>\n", prose(s.Description))
	}
	if len(s.Enum) > 0 {
		fmt.Fprintf(&out, "<p>One of %s.</p>\n", s.html())
	}
	fields := maps.Clone(s.Properties)
	for _, one := range s.OneOf {
		for field, of := range one.Properties {
			if fields == nil {
				fields = map[string]schema{}
			}
			fields[field] = of
		}
	}
	var rows [][]string
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		meaning := prose(fields[field].Description)
		if slices.Contains(s.Required, field) {
			meaning = strings.TrimSpace(meaning + " Needed.")
		}
		rows = append(rows, []string{"<code>" + html.EscapeString(field) + "</code>", fields[field].html(), meaning})
	}
	if len(rows) > 0 {
		out.WriteString(tableOf([]string{"field", "type", "meaning"}, rows))
	}
	return out.String()
}

// tableOf makes a table of cells that are HTML. A column of which all cells are empty is left out.
func tableOf(names []string, rows [][]string) string {
	var out strings.Builder
	write := func(tag string, cells []string) {
		out.WriteString("<tr>")
		for i, cell := range cells {
			if slices.ContainsFunc(rows, func(row []string) bool { return row[i] != "" }) {
				fmt.Fprintf(&out, "<%[1]s>%[2]s</%[1]s>", tag, cell)
			}
		}
		out.WriteString("</tr>\n")
	}
	out.WriteString("<table>\n<thead>\n")
	write("th", names)
	out.WriteString("</thead>\n<tbody>\n")
	for _, row := range rows {
		write("td", row)
	}
	out.WriteString("</tbody>\n</table>\n")
	return scrolls.Replace(out.String())
}

// prose escapes a description and sets what stands between backquotes as code.
func prose(text string) string {
	parts := strings.Split(html.EscapeString(text), "`")
	for i := 1; i+1 < len(parts); i += 2 {
		parts[i] = "<code>" + parts[i] + "</code>"
	}
	return strings.Join(parts, "")
}
