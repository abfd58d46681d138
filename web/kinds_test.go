package web

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nodal/node"
)

// The dashboard has its own list of kinds, in another language; this test compares it with the
// node's.
func TestTheDashboardKnowsEveryKind(t *testing.T) {
	text, err := os.ReadFile("src/pure/kinds.ts")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	line := regexp.MustCompile(`\{ kind: "(\w+)", one: "(\w+)", .*namespaced: (true|false),`)
	for _, found := range line.FindAllStringSubmatch(string(text), -1) {
		got = append(got, strings.Join(found[1:], " "))
	}
	for _, kind := range node.Kinds() {
		want = append(want, fmt.Sprintf("%s %s %t", kind.Plural, kind.Name, kind.Namespaced))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("src/pure/kinds.ts lists\n%q, and the node\n%q", got, want)
	}
}
