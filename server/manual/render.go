package manual

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// heading is a part of a page that has an address of its own.
type heading struct{ id, text string }

// scrolls lets wide tables and long lines scroll by themselves, by keys too. In a document these tags are text.
var scrolls = strings.NewReplacer(
	"<table>", `<div class="wide" role="region" aria-label="Table" tabindex="0"><table>`, "</table>", "</table></div>",
	"<pre>", `<pre tabindex="0">`,
)

// render makes HTML of a document and returns its sections. Raw HTML is left out.
func render(pages shelf, p page, source []byte) (body string, sections []heading, err error) {
	// The policy of the page forbids styles in attributes.
	aligned := extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))
	markdown := goldmark.New(
		goldmark.WithExtensions(aligned),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(linker{pages, p}, 100))),
		goldmark.WithRendererOptions(html.WithXHTML()),
	)
	tree := markdown.Parser().Parse(text.NewReader(source))
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level == 2 {
			sections = append(sections, heading{idOf(h), textOf(h, source)})
		}
	}
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, source, tree); err != nil {
		return "", nil, fmt.Errorf("render %s: %w", p.source, err)
	}
	return scrolls.Replace(out.String()), sections, nil
}

func idOf(h *ast.Heading) string {
	id, _ := h.AttributeString("id")
	value, _ := id.([]byte)
	return string(value)
}

// textOf returns the words of a part of a document.
func textOf(n ast.Node, source []byte) string {
	var words strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if part, ok := n.(*ast.Text); ok && entering {
			words.Write(part.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return words.String()
}
