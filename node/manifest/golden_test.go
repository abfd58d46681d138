package manifest_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/yaml"

	"nodal/node/manifest"
	"nodal/node/manifest/rules"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGoodManifests shows what defaults make of real manifests: the golden files
// are for reading as a diff.
func TestGoodManifests(t *testing.T) {
	paths, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got %d manifests, error %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			pod := decodeOne(t, read(t, path))
			got, err := yaml.Marshal(pod)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata/golden", filepath.Base(path))
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := read(t, golden); string(got) != want {
				t.Errorf("got:\n%s\nwant %s (rewrite with -update):\n%s", got, golden, want)
			}
			again := pod.DeepCopy()
			manifest.Default(again)
			if !apiequality.Semantic.DeepEqual(pod, again) {
				t.Error("defaulting twice is not defaulting once")
			}
			if errs := rules.Pod(decodeOne(t, string(got))); len(errs) > 0 {
				t.Errorf("what was written back is not valid: %v", errs)
			}
		})
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
