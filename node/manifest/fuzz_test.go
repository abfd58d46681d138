package manifest_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"nodal/node"
	"nodal/node/manifest"
)

// FuzzDecode holds that no input makes the reader panic or return anything but an
// InvalidError, and that what it accepts is a fixed point.
func FuzzDecode(f *testing.F) {
	paths, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		f.Add([]byte(read(f, path)))
	}
	f.Add([]byte(web + "---\n" + webJSON))
	f.Add([]byte(bomb()))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte(`{"apiVersion":"v1","kind":"List","items":[null,{"kind":"Pod"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := manifest.DecodeEach(data, manifest.Options{MaxDocuments: 20})
		var invalid *node.InvalidError
		if err != nil && !errors.As(err, &invalid) {
			t.Fatalf("got %T %v, want an InvalidError", err, err)
		}
		for _, doc := range docs {
			first, err := json.Marshal(doc.Pod)
			if err != nil {
				t.Fatal(err)
			}
			second, err := json.Marshal(decodeOne(t, string(first)))
			if err != nil {
				t.Fatal(err)
			}
			if string(first) != string(second) {
				t.Errorf("got %s\nafter %s", second, first)
			}
		}
	})
}
