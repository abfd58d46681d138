package source

import (
	"path/filepath"
	"strings"
	"testing"

	"nodal/node/intake"
)

func TestCheckTakesNothingAndNamesEachFault(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": wordsYAML("a", "1") + "---\n" + podYAML("web", "a:1"), "b.yaml": wordsYAML("b", "1"), "c.yaml": podYAML("web", "c:1"), "d.yaml": "{",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	checked, err := Check(dir, intake.Intake{Offer: offered})
	must(t, err)
	want := []string{"", "", "Pod default/web-node-1 stands in " + filepath.Join(dir, "a.yaml") + " already", "must be valid"}
	for i, says := range want {
		if i >= len(checked) || (checked[i].Err == nil) != (says == "") || says != "" && !strings.Contains(checked[i].Err.Error(), says) {
			t.Fatalf("got %v, want file %d to have %q", checked, i, says)
		}
	}
	if _, err := Check(filepath.Join(dir, "none"), intake.Intake{Offer: offered}); err == nil {
		t.Error("a directory that is not there passes")
	}
}
