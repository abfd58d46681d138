package logs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// layPods makes directories of logs.
func layPods(t *testing.T, names ...string) Layout {
	t.Helper()
	l := Layout{Pods: t.TempDir()}
	for _, name := range names {
		if err := errors.Join(os.MkdirAll(filepath.Join(l.Pods, name, "main"), 0o755),
			os.WriteFile(filepath.Join(l.Pods, name, "main", "0.log"), []byte("12345"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// wantPods expects which directories of logs are there.
func (l Layout) wantPods(t *testing.T, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(l.Pods)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, want) {
		t.Errorf("left %q, want %q", names, want)
	}
}

// dbGoes says that the logs of one pod may go.
func dbGoes(uid types.UID) bool { return uid == "db-uid" }

func TestSweepRemovesTheLogsThatItLists(t *testing.T) {
	l := layPods(t, "default_db_db-uid", "default_web_web-uid", ".gone-default_old_old-uid", "default_theirs_their-uid", "notes")
	got, err := l.Garbage(dbGoes)
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, g := range got {
		if g.Kind != node.GarbageLogs || g.Bytes != 5 || g.Why == "" || g.Kept != "" {
			t.Errorf("got %+v, want logs of 5 bytes with a reason, which go", g)
		}
		listed = append(listed, filepath.Base(g.Name)+" of "+g.Key.String())
	}
	if want := []string{".gone-default_old_old-uid of default/old", "default_db_db-uid of default/db"}; !slices.Equal(listed, want) {
		t.Errorf("listed %q, want %q", listed, want)
	}
	if err := l.SweepPods(dbGoes); err != nil {
		t.Fatal(err)
	}
	l.wantPods(t, "default_theirs_their-uid", "default_web_web-uid", "notes")
}

func TestAPodThatComesBackDuringASweepKeepsItsLogs(t *testing.T) {
	l := layPods(t, "default_web_web-uid")
	asked := 0
	once := func(types.UID) bool { // the pod is accepted between the list and the removal
		asked++
		return asked == 1
	}
	if err := l.SweepPods(once); err != nil {
		t.Fatal(err)
	}
	l.wantPods(t, "default_web_web-uid")
	if text, err := os.ReadFile(filepath.Join(l.Pods, "default_web_web-uid", "main", "0.log")); err != nil || string(text) != "12345" {
		t.Errorf("its log is %q (%v)", text, err)
	}
}

// A crash between the two steps of a removal leaves a directory that no pod uses.
func TestASweepThatWasCutShortGoesOn(t *testing.T) {
	l := layPods(t, "default_db_db-uid", ".gone-default_db_db-uid")
	if err := l.SweepPods(func(types.UID) bool { return false }); err != nil {
		t.Fatal(err)
	}
	l.wantPods(t, "default_db_db-uid")
}

func TestASweepBeforeTheFirstPodFindsNothing(t *testing.T) {
	l := Layout{Pods: filepath.Join(t.TempDir(), "none")}
	if got, err := l.Garbage(dbGoes); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v, want nothing", got, err)
	}
	if err := l.SweepPods(dbGoes); err != nil {
		t.Error(err)
	}
}

func TestSweepRemovesLinksToNowhere(t *testing.T) {
	dir := t.TempDir()
	l := Layout{Pods: filepath.Join(dir, "pods"), Links: filepath.Join(dir, "containers")}
	if err := l.SweepLinks(); err != nil {
		t.Errorf("before the first link: %v", err)
	}
	old := runOf("web", "uid-1")
	run := old
	run.Attempt = 1
	kept, err := l.Path(run)
	gone, err2 := l.Path(old)
	if err := errors.Join(err, err2, makeContainerDir(l, run), os.WriteFile(kept, nil, 0o600),
		l.Link(run.Key, "main", "id1", kept), l.Link(run.Key, "main", "id0", gone),
		os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(l.Links, "foreign.log")),
		os.WriteFile(filepath.Join(l.Links, "file.log"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := l.SweepLinks(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(l.Links)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if want := []string{"file.log", "foreign.log", "web_default_main-id1.log"}; !slices.Equal(names, want) {
		t.Errorf("left %q, want %q", names, want)
	}
	if _, err := os.Lstat(kept); errors.Is(err, fs.ErrNotExist) {
		t.Error("the log itself is gone")
	}
}
