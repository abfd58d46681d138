package script

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the output into the scripts")

func TestScripts(t *testing.T) {
	files, err := filepath.Glob("../testdata/scripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("scripts: %d, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Play(string(want))
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(want) {
				t.Errorf("%s differs from what happens now; if that is wanted, write it with -update. Got:\n%s", file, got)
			}
		})
	}
}
