package claim

import (
	"flag"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "rewrite docs/CONFORMANCE.md")

func TestTableMatchesTheClaims(t *testing.T) {
	root, err := os.OpenRoot("../..")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	rows, err := Read(root.FS())
	if err != nil {
		t.Fatal(err)
	}
	const document = "docs/CONFORMANCE.md"
	want := Table(rows)
	if *update {
		if err := root.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := root.ReadFile(document); err != nil || string(got) != want {
		t.Errorf("%s is not what the tests say (%v); run go test ./test/claim -update", document, err)
	}
}

func TestClaimsThatCannotHoldAreRefused(t *testing.T) {
	const in = "package p\n\nimport \"nodal/test/claim\"\n\n"
	for _, c := range []struct{ name, source, want string }{
		{"an area that is not there", "func TestA(t *testing.T) { claim.Shows(t, \"Weather\", \"it rains\") }", `no area "Weather"`},
		{"a sentence that is made at run time", "func TestA(t *testing.T) { claim.Shows(t, \"Logs\", name()) }", "has to be written out"},
		{"one that no test makes", "func helper(t *testing.T) { claim.Shows(t, \"Logs\", \"are read\") }", "helper is no test"},
		{"the same twice", "func TestA(t *testing.T) { claim.Shows(t, \"Logs\", \"are read\", \"are read\") }", "both show"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(fstest.MapFS{"a_test.go": {Data: []byte(in + c.source)}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestRowsStandInTheirAreas(t *testing.T) {
	tree := fstest.MapFS{"e2e/a_test.go": {Data: []byte("package p\n\nfunc TestA(t *testing.T) {\n" +
		"claim.Shows(t, \"Logs\", \"a|b\")\nt.Run(\"x\", func(t *testing.T) { claim.Shows(t, \"Ways in\", \"curl\") })\n}")}}
	rows, err := Read(tree)
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(Table(rows), "2 behaviours.\n")
	const want = "\n## Ways in\n\n| behaviour | test |\n|---|---|\n| curl | [TestA](../e2e/a_test.go) |\n" +
		"\n## Logs\n\n| behaviour | test |\n|---|---|\n| a\\|b | [TestA](../e2e/a_test.go) |\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
