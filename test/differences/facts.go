package differences

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Facts holds what one kubelet shows, by names that are the same for each kubelet.
type Facts map[string]string

// Absent stands for a fact that one of the kubelets does not show.
const Absent = "none"

// Add adds what a JSON document says below a name. An element of a list is named by its own name or type if it has one.
func (f Facts) Add(name string, document []byte) error {
	var value any
	if err := json.Unmarshal(document, &value); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	f.add(name, value)
	return nil
}

func (f Facts) add(name string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			f.add(name+"."+key, inner)
		}
	case []any:
		var texts []string
		for i, inner := range value {
			if element, ok := inner.(map[string]any); ok {
				f.add(name+"["+title(element, i)+"]", inner)
			} else {
				texts = append(texts, fmt.Sprint(inner))
			}
		}
		if len(texts) > 0 || len(value) == 0 {
			f[name] = strings.Join(texts, " ")
		}
	default:
		f[name] = fmt.Sprint(value)
	}
}

// title returns what tells an element of a list from the others, without its key.
func title(element map[string]any, i int) string {
	for _, key := range []string{"type", "name", "mountPath"} {
		if text, ok := element[key].(string); ok {
			delete(element, key)
			return text
		}
	}
	return fmt.Sprint(i)
}

// Set adds a fact, unless its text is empty.
func (f Facts) Set(name, text string) {
	if text != "" {
		f[name] = text
	}
}

// Shape adds the fields of a JSON value and the types of their values. Elements of a list count as one.
func (f Facts) Shape(name string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			f.Shape(name+"."+key, inner)
		}
	case []any:
		for _, inner := range value {
			f.Shape(name+"[]", inner)
		}
	default:
		f[name] = fmt.Sprintf("%T", value)
	}
}

// Drop removes the facts with these names, in which a star stands for any text.
func (f Facts) Drop(names ...string) {
	for _, name := range names {
		maps.DeleteFunc(f, func(fact, _ string) bool { return Match(name, fact) })
	}
}

// Difference is one fact in which two kubelets differ.
type Difference struct{ Fact, Upstream, Here string }

func (d Difference) String() string {
	return fmt.Sprintf("| %s | %s | %s |", d.Fact, d.Upstream, d.Here)
}

// Compare returns what differs, in the order of names.
func Compare(upstream, here Facts) (all []Difference) {
	names := maps.Clone(upstream)
	maps.Copy(names, here)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d := Difference{cell(name), Absent, Absent}
		if value, ok := upstream[name]; ok {
			d.Upstream = cell(value)
		}
		if value, ok := here[name]; ok {
			d.Here = cell(value)
		}
		if d.Upstream != d.Here {
			all = append(all, d)
		}
	}
	return all
}

// cell returns a text as it stands in a cell of a table.
func cell(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "|", "/")), " ")
}

// Match reports whether a text is like a pattern, in which a star stands for any text.
func Match(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile("^(?s:" + strings.Join(parts, ".*") + ")$").MatchString(text)
}

// Check returns the differences that no row describes, and the rows that describe none. A row holds the names of facts, the
// value upstream, the one here, and a reason.
func Check(differences []Difference, rows []Row) (unlisted []Difference, stale []Row) {
	used := map[int]map[string]bool{}
	for _, d := range differences {
		listed := false
		for i, row := range rows {
			for _, name := range row.Names {
				if Match(name, d.Fact) && Match(row.Cells[1], d.Upstream) && Match(row.Cells[2], d.Here) {
					if used[i] == nil {
						used[i] = map[string]bool{}
					}
					used[i][name], listed = true, true
				}
			}
		}
		if !listed {
			unlisted = append(unlisted, d)
		}
	}
	for i, row := range rows {
		for _, name := range row.Names {
			if !used[i][name] {
				stale = append(stale, Row{Names: []string{name}, Cells: row.Cells})
			}
		}
	}
	return unlisted, stale
}
