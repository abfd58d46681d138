package command

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of verbs in docs/CLI.md")

const page = "../../../docs/CLI.md"

// TestTheTableOfVerbsIsTrue holds the table in docs/CLI.md to the verbs.
func TestTheTableOfVerbsIsTrue(t *testing.T) {
	const begin, end = "<!-- verbs -->\n", "<!-- end of verbs -->\n"
	var want strings.Builder
	want.WriteString("| verb | words | what it does |\n|---|---|---|\n")
	for _, v := range verbs() {
		if v.Hidden {
			continue
		}
		words := "`" + strings.ReplaceAll(v.Words, "|", `\|`) + "`"
		if v.Words == "" {
			words = ""
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", v.Name, words, v.Short)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	table, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no table between %q and %q", page, begin, end)
	}
	if table == want.String() {
		return
	}
	if !*update {
		t.Fatalf("%s: go test ./cmd/kubelet/command -run %s -update writes the table again; it should be\n%s", page, t.Name(), want.String())
	}
	if err := os.WriteFile(page, []byte(before+begin+want.String()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
