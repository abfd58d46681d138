package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// offerWriters lists the packages that post the node's offer. All others read it: two writers would
// undo each other's changes.
var offerWriters = []string{"agent/offering"}

func offerErrors(files []goFile) []string {
	var errs []string
	for _, f := range files {
		if f.isTest() || underAny(f.dir, offerWriters) || !slices.Contains(f.imports, module+"/node/offer") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if method, ok := call.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Post" {
					errs = append(errs, fmt.Sprintf("%s: Post: the node's offer has one writer, %s", f.at(call), strings.Join(offerWriters, ", ")))
				}
			}
			return true
		})
	}
	return errs
}

func TestTheNodesOfferHasOneWriter(t *testing.T) {
	for _, err := range offerErrors(ours(t)) {
		t.Error(err)
	}
}

func TestOfferRulesCatch(t *testing.T) {
	const post = `; import "nodal/node/offer"; func f(b *offer.Board) { b.Post(offer.Offer{}) }`
	for _, c := range []struct {
		name, file, source string
		caught             bool
	}{
		{"the writer", "agent/offering/a.go", "package offering" + post, false},
		{"the server", "server/a.go", "package server" + post, true},
		{"a test of the server", "server/a_test.go", "package server" + post, false},
		{"a reader", "server/a.go", `package server; import "nodal/node/offer"; func f(b *offer.Board) { b.Read() }`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := offerErrors(parse(t, tree(c.file, c.source)))
			if caught := len(got) > 0; caught != c.caught {
				t.Errorf("caught is %t, want %t: %q", caught, c.caught, got)
			}
		})
	}
}
