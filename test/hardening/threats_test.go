package hardening

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// threat is one row of the table of threats.
type threat struct{ attack, holds, shown string }

// threats reads the table in docs/SECURITY.md.
func threats(t *testing.T) (all []threat) {
	t.Helper()
	text, err := os.ReadFile("../../docs/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "## Threats\n")
	if !found {
		t.Fatal("docs/SECURITY.md has no section Threats")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| attack |") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 3 {
			t.Fatalf("the row %.60q has %d cells, want 3", line, len(cells))
		}
		all = append(all, threat{cells[0], cells[1], cells[2]})
	}
	return all
}

var (
	link     = regexp.MustCompile(`\[([^\]]+)\]\(([^)]+)\)`)
	testName = regexp.MustCompile(`\bTest\w+\b`)
)

// TestEveryThreatNamesTestsThatExist holds the table to the tests: a name that is changed there is found here.
func TestEveryThreatNamesTestsThatExist(t *testing.T) {
	all := threats(t)
	if len(all) < 40 {
		t.Errorf("the table has %d rows; where are the others?", len(all))
	}
	seen := map[string]bool{}
	for _, row := range all {
		if row.attack == "" || row.holds == "" || seen[row.attack] {
			t.Errorf("%q stands twice, or says too little", row.attack)
		}
		seen[row.attack] = true
		links := link.FindAllStringSubmatch(row.shown, -1)
		if len(links) == 0 {
			t.Errorf("%q is shown by no test", row.attack)
		}
		for _, l := range links {
			checkShown(t, row.attack, l[1], l[2])
		}
		if strings.Contains(link.ReplaceAllString(row.shown, ""), "Test") {
			t.Errorf("%q names a test without its file", row.attack)
		}
	}
}

// checkShown holds one link to its file, and the names in it to the tests there.
func checkShown(t *testing.T, attack, names, file string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", file))
	if err != nil {
		t.Errorf("%q: %v", attack, err)
		return
	}
	if !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(file, ".test.ts") {
		t.Errorf("%q: %s is no file of tests", attack, file)
	}
	for _, name := range testName.FindAllString(names, -1) {
		if !strings.Contains(string(text), "func "+name+"(") {
			t.Errorf("%q: there is no %s in %s", attack, name, file)
		}
	}
	if strings.HasSuffix(names, "_test.go") && filepath.Base(file) != names {
		t.Errorf("%q: the link %s leads to %s", attack, names, file)
	}
}
