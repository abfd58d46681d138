package manual

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// texts holds the sources of all documents by their paths in the repository.
type texts map[string][]byte

// page is a document of the program.
type page struct {
	source  string // its path in the repository
	address string // its path on the node
	title   string
}

// isText reports whether the page is an example, which is sent as it is.
func (p page) isText() bool { return path.Ext(p.source) != ".md" }

// shelf holds the pages in the order of the menu.
type shelf []page

const (
	front     = "README.md"
	decisions = "docs/decisions/"
)

// newShelf lists the documents. Those that README.md links to come first, in its order.
func newShelf(from texts) (all shelf, err error) {
	for name, text := range from {
		title, err := titleOf(name, text)
		if err != nil {
			return nil, fmt.Errorf("list the documents: %w", err)
		}
		all = append(all, page{name, addressOf(name), title})
	}
	rank := ranks(string(from[front]))
	slices.SortFunc(all, func(a, b page) int {
		return cmp.Or(cmp.Compare(place(rank, a), place(rank, b)), cmp.Compare(a.source, b.source))
	})
	return all, nil
}

// linked matches a link to a document.
var linked = regexp.MustCompile(`\]\(([^)#:]+)\)`)

// ranks numbers the documents that the front page links to.
func ranks(readme string) map[string]int {
	rank := map[string]int{front: 0}
	for i, match := range linked.FindAllStringSubmatch(tables(readme), -1) {
		if _, known := rank[match[1]]; !known {
			rank[match[1]] = i + 1
		}
	}
	return rank
}

// tables returns the rows of tables: the front page ends with one of all documents, in the order in which to read them.
func tables(text string) string {
	var rows strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "|") {
			rows.WriteString(line)
		}
	}
	return rows.String()
}

// place puts pages without a rank behind the others, and single decisions behind these.
func place(rank map[string]int, p page) int {
	if n, ok := rank[p.source]; ok {
		return n
	}
	switch {
	case strings.HasPrefix(p.source, decisions):
		return len(rank) + 3000
	case p.isText():
		return len(rank) + 2000
	}
	return len(rank) + 1000
}

// addressOf turns docs/CLI.md into /docs/cli.
func addressOf(source string) string {
	name, isPage := strings.CutSuffix(strings.TrimPrefix(source, "docs/"), ".md")
	if !isPage {
		return root + name
	}
	dir, base := path.Split(name)
	if base == "README" {
		base = ""
	}
	return root + strings.ToLower(dir+base)
}

// titleOf returns the first heading of a page, or the name of an example.
func titleOf(name string, text []byte) (string, error) {
	if path.Ext(name) != ".md" {
		return path.Base(name), nil
	}
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			return strings.Clone(strings.TrimSpace(title)), nil // the rest of the text is not kept
		}
	}
	return "", fmt.Errorf("%s has no title", name)
}

// at returns the page of an address. Upper case and the ending of the file are forgiven.
func (s shelf) at(address string) (page, bool) {
	for _, p := range s {
		if p.address == address {
			return p, true
		}
	}
	address = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(address), ".md"), "readme")
	i := slices.IndexFunc(s, func(p page) bool { return strings.TrimSuffix(p.address, "/") == strings.TrimSuffix(address, "/") })
	if i < 0 {
		return page{}, false
	}
	return s[i], true
}

// of returns the page of a file or of a directory of the repository.
func (s shelf) of(source string) (page, bool) {
	i := slices.IndexFunc(s, func(p page) bool { return p.source == source || p.source == source+"/README.md" })
	if i < 0 {
		return page{}, false
	}
	return s[i], true
}

// menu returns the pages that the menu shows: the reference comes after the page of the API, and decisions and examples
// have a page that lists them.
func (s shelf) menu() (shown shelf) {
	for _, p := range s {
		if !p.isText() && (!strings.HasPrefix(p.source, decisions) || p.source == decisions+front) {
			shown = append(shown, p)
		}
		if p.source == "docs/API.md" {
			shown = append(shown, reference)
		}
	}
	return shown
}
