package readme

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)#:]+)\)`)

func TestLinksInTheDocumentsLeadSomewhere(t *testing.T) {
	documents := []string{"../../README.md", "../../ARCHITECTURE.md", "../../CONTRIBUTING.md", "../../SCOPE.md"}
	err := filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			documents = append(documents, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range documents {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(document), match[1])); err != nil {
				t.Errorf("%s links to %s: %v", document, match[1], err)
			}
		}
	}
}
