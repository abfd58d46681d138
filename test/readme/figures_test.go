package readme

import (
	"os"
	"strings"
	"testing"
)

// TestFiguresAreThoseOfTheBenchmarks compares each row of the README's table with the row of the same name.
func TestFiguresAreThoseOfTheBenchmarks(t *testing.T) {
	measured := map[string]string{}
	for _, cells := range rows(t, "../../docs/BENCHMARKS.md") {
		if len(cells) > 4 {
			measured[cells[0]] = strings.Join([]string{cells[1], cells[3], cells[4]}, " | ") // the unit, ours, the peer's
		}
	}
	shown := 0
	for _, cells := range rows(t, "../../README.md") {
		if len(cells) != 4 || cells[0] == "what" || strings.HasPrefix(cells[0], "---") {
			continue
		}
		shown++
		if got, want := strings.Join(cells[1:], " | "), measured[cells[0]]; got != want {
			t.Errorf("the README says of %q: %s; docs/BENCHMARKS.md says %q", cells[0], got, want)
		}
	}
	if shown == 0 {
		t.Error("the README shows no figures")
	}
}

// rows returns the cells of each row of a document's tables.
func rows(t *testing.T, document string) (all [][]string) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		row, ok := strings.CutPrefix(strings.TrimSpace(line), "| ")
		if !ok {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(row, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		all = append(all, cells)
	}
	return all
}
