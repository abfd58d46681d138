package manual

import (
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// linker leads the links of a document to pages. A link to what is no page, such as a file of the source, becomes its
// text, and raw HTML, such as a comment, goes.
type linker struct {
	pages shelf
	from  page
}

var _ parser.ASTTransformer = linker{}

// Transform changes the tree of a document.
func (l linker) Transform(document *ast.Document, _ text.Reader, _ parser.Context) {
	var raw, dead []ast.Node
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.HTMLBlock, *ast.RawHTML, *ast.Image:
			raw = append(raw, n)
		case *ast.Link:
			address, ok := l.address(string(n.Destination))
			if !ok {
				dead = append(dead, n)
			}
			n.Destination = []byte(address)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range raw {
		n.Parent().RemoveChild(n.Parent(), n)
	}
	for _, n := range dead {
		unwrap(n)
	}
}

// unwrap puts the children of a node in its place.
func unwrap(n ast.Node) {
	parent := n.Parent()
	for child := n.FirstChild(); child != nil; child = n.FirstChild() {
		parent.InsertBefore(parent, n, child)
	}
	parent.RemoveChild(parent, n)
}

// address returns where a link of the document leads on the node. It reports false if that is nowhere.
func (l linker) address(to string) (string, bool) {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "#") {
		return to, true
	}
	file, fragment, _ := strings.Cut(to, "#")
	p, ok := l.pages.of(path.Join(path.Dir(l.from.source), file))
	if fragment != "" {
		fragment = "#" + fragment
	}
	return p.address + fragment, ok
}
