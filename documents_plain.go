//go:build !packed

package nodal

import (
	"embed"
	"io/fs"
)

// Nothing ever writes to it.
//
//go:embed README.md SCOPE.md docs/[^BCW]*.md docs/C[^O]*.md docs/CO[^N]*.md docs/CONFI*.md docs/decisions/*.md docs/examples
var documents embed.FS

// Documents returns the text of each page by the path that it has here, so that links between pages hold.
func Documents() (map[string][]byte, error) {
	texts := map[string][]byte{}
	err := fs.WalkDir(documents, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			texts[name], err = documents.ReadFile(name)
		}
		return err
	})
	return texts, err
}
