package manual

import (
	"cmp"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
)

const (
	maxQuery = 100 // characters
	maxWords = 8
	maxFound = 40
	excerpt  = 240 // bytes around the first word
)

// section is a part of a page below one heading.
type section struct {
	page
	heading
	text string
}

// found is a section that holds all words of a search.
type found struct {
	section
	score int
}

// wordsOf splits a search into what has to be in a section.
func wordsOf(query string) []string {
	if runes := []rune(query); len(runes) > maxQuery {
		query = string(runes[:maxQuery])
	}
	words := strings.Fields(strings.ToLower(query))
	return words[:min(len(words), maxWords)]
}

// index holds the sections of all pages, ready to be searched.
type index []entry

// entry is a section with its words in lower case.
type entry struct {
	section
	lowText, lowHead, lowTitle string
}

// newIndex reads all pages.
func newIndex(from texts, pages shelf, api []section) (all index) {
	add := func(sections []section) {
		for _, s := range sections {
			all = append(all, entry{s, strings.ToLower(s.text), strings.ToLower(s.heading.text), strings.ToLower(s.title)})
		}
	}
	for _, p := range pages {
		add(split(p, string(from[p.source])))
	}
	add(api)
	return all
}

// search returns the sections with all words, the best first.
func (all index) search(words []string) (hits []found) {
	for _, e := range all {
		if score := e.score(words); score > 0 {
			hits = append(hits, found{e.section, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	return hits
}

// score rates a section: words in its heading count more than those in the title of its page, and these more than
// those in its text. It is 0 if a word is missing. Of two that are alike the page that comes first in the menu is better.
func (e entry) score(words []string) (score int) {
	for _, word := range words {
		inHead, inTitle := strings.Contains(e.lowHead, word), strings.Contains(e.lowTitle, word)
		if !inHead && !inTitle && !strings.Contains(e.lowText, word) {
			return 0
		}
		score++
		if inHead {
			score += 100
		}
		if inTitle {
			score += 30
		}
	}
	return score
}

// split cuts a document at its headings. Their ids are made as the renderer makes them.
func split(p page, source string) (all []section) {
	here := section{page: p}
	if p.isText() {
		here.text = source
		return []section{here}
	}
	ids, fenced := parser.NewContext().IDs(), false
	var lines strings.Builder
	flush := func() {
		here.text = lines.String()
		lines.Reset()
		if here.heading.text != "" {
			all = append(all, here)
		}
	}
	for line := range strings.Lines(source) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		title, ok := headingOf(line)
		if fenced || !ok {
			lines.WriteString(line)
			continue
		}
		flush()
		id := ids.Generate([]byte(title), ast.KindHeading)
		here.heading = heading{string(id), plain(title)}
	}
	flush()
	return all
}

// headingOf returns the words of a line that is a heading.
func headingOf(line string) (string, bool) {
	words := strings.TrimLeft(line, "#")
	level := len(line) - len(words)
	return strings.TrimSpace(words), level > 0 && level <= 6 && strings.HasPrefix(words, " ")
}

var (
	links = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	marks = regexp.MustCompile("`|\\*\\*|<!--.*?-->|</?(?:picture|source|img)\\b[^>\n]*>|\\|?(?:\\s*:?-{3,}:?\\s*\\|)+")
)

// cells parts the cells of a row by spaces.
var cells = strings.NewReplacer(`\|`, "|", "|", " ")

// plain returns the words of Markdown.
func plain(markdown string) string {
	text := marks.ReplaceAllString(links.ReplaceAllString(markdown, "$1"), "")
	return strings.Join(strings.Fields(cells.Replace(text)), " ")
}

// excerptOf returns the text around the first word that is in a section.
func (s section) excerptOf(words []string) string {
	text := plain(s.text)
	lower := strings.ToLower(text)
	at := 0
	if len(lower) == len(text) { // no letter has another length in lower case
		for _, word := range words {
			if i := strings.Index(lower, word); i >= 0 {
				at = i
				break
			}
		}
	}
	from := max(0, at-excerpt/3)
	to := min(len(text), from+excerpt)
	for from > 0 && from < at && text[from-1] != ' ' {
		from++
	}
	for to < len(text) && text[to] != ' ' {
		to++
	}
	part := strings.ToValidUTF8(text[from:to], "")
	if from > 0 {
		part = "… " + part
	}
	if to < len(text) {
		part += " …"
	}
	return part
}

// marked returns text as HTML, with the words marked.
func marked(text string, words []string) string {
	var out strings.Builder
	for rest := text; rest != ""; {
		if n := prefixOf(rest, words); n > 0 {
			out.WriteString("<mark>" + html.EscapeString(rest[:n]) + "</mark>")
			rest = rest[n:]
			continue
		}
		_, n := utf8.DecodeRuneInString(rest)
		out.WriteString(html.EscapeString(rest[:n]))
		rest = rest[n:]
	}
	return out.String()
}

// prefixOf returns the length of the longest word with which the text begins.
func prefixOf(text string, words []string) (longest int) {
	for _, word := range words {
		if n := len(word); n <= len(text) && n > longest && strings.EqualFold(text[:n], word) {
			longest = n
		}
	}
	return longest
}

// answer returns the HTML of what a search has found.
func answer(query string, words []string, all []found) string {
	var out strings.Builder
	out.WriteString("<h1>Search</h1>\n")
	switch {
	case len(words) == 0:
		out.WriteString("<p>Type words into the field above. A section is found if it has all of them.</p>\n")
		return out.String()
	case len(all) == 0:
		fmt.Fprintf(&out, "<p>No section has all of “%s”. Fewer or shorter words find more.</p>\n", html.EscapeString(query))
		return out.String()
	}
	fmt.Fprintf(&out, "<p class=\"count\">%s</p>\n<ol class=\"found\">\n", counted(len(all)))
	for _, f := range all[:min(len(all), maxFound)] {
		address, name := f.address, f.title
		if f.heading.text != "" && f.heading.text != f.title {
			address, name = f.address+"#"+f.id, f.title+" › "+f.heading.text
		}
		fmt.Fprintf(&out, "<li><a href=\"%s\">%s</a>\n<p>%s</p></li>\n", html.EscapeString(address), marked(name, words), marked(f.excerptOf(words), words))
	}
	out.WriteString("</ol>\n")
	return out.String()
}

func counted(sections int) string {
	switch {
	case sections == 1:
		return "1 section"
	case sections > maxFound:
		return fmt.Sprintf("the best %d of %d sections", maxFound, sections)
	}
	return fmt.Sprintf("%d sections", sections)
}
