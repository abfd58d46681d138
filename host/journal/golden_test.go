package journal

import (
	"os"
	"path/filepath"
	"testing"
)

// golden files are as the first agents wrote them: a record, and a transaction that a crash
// left to be finished.
func TestGoldenFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/v1")); err != nil {
		t.Fatal(err)
	}
	j := openJournal(t, dir)
	records, quarantined, err := j.Load()
	if err != nil || len(quarantined) > 0 {
		t.Fatalf("quarantined %v, error %v", quarantined, err)
	}
	got := map[string]string{}
	for _, r := range records {
		got[r.Name] = string(r.Data)
	}
	if len(got) != 2 || got["pods/default_web"] != "some data\nof a pod" || got["pods/default_new"] != "staged" {
		t.Errorf("got %q, want web as it was and new as the transaction made it", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "records/pods/default_old.rec")); !os.IsNotExist(err) {
		t.Errorf("the record that the transaction removes is there: %v", err)
	}
}
