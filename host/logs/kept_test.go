package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// keeping returns a layout that keeps what it removes.
func keeping(t *testing.T) Layout {
	l := newLayout(t)
	l.Kept = NewKept(l.Pods, "node", slog.New(slog.DiscardHandler))
	return l
}

// lay writes a file in the directory of a run's container, last written so many hours after midnight.
func (l Layout) lay(t *testing.T, run node.LogRun, name, text string, hours int) {
	t.Helper()
	path, err := l.Path(run)
	if err := errors.Join(err, makeContainerDir(l, run)); err != nil {
		t.Fatal(err)
	}
	file, at := filepath.Join(filepath.Dir(path), name), time.Date(2026, 1, 2, hours, 0, 0, 0, time.UTC)
	if err := errors.Join(os.WriteFile(file, []byte(text), 0o640), os.Chtimes(file, at, at)); err != nil {
		t.Fatal(err)
	}
}

// keptNames lists the files that are kept, from the directory of their pod on.
func (l Layout) keptNames(t *testing.T) (names []string) {
	t.Helper()
	files, err := l.Kept.Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !f.Run.Kept || f.Bytes == 0 || f.Written.IsZero() {
			t.Errorf("listed %+v, want it as kept, with its size and time", f)
		}
		names = append(names, strings.TrimPrefix(f.Path, filepath.Join(l.Pods, ".kept-node")+"/"))
	}
	slices.Sort(names)
	return names
}

func (l Layout) read(t *testing.T, run node.LogRun) string {
	t.Helper()
	var out printed
	if err := l.Read(t.Context(), run, node.LogOptions{}, &out); err != nil {
		return err.Error()
	}
	return out.String()
}

func TestTheLogsOfADeletedPodStayReadable(t *testing.T) {
	l := keeping(t)
	second := web
	second.Attempt = 1
	l.lay(t, web, "0.log.20260102-010000.gz", string(packed([]byte(full("a")))), 1)
	l.lay(t, web, "0.log.20260102-020000", full("b"), 2)
	l.lay(t, web, "0.log", full("c"), 3)
	l.lay(t, web, "1.log", full("d"), 4)
	l.lay(t, web, "2.log", "", 5)                           // nothing was written
	l.lay(t, web, "1.log.20260102-020000.gz.tmp", "cut", 5) // packing was cut short
	l.lay(t, web, "notes", "of the pod itself", 5)
	if err := l.RemovePod(web.Key, web.UID); err != nil {
		t.Fatal(err)
	}
	if dir, _ := l.PodDir(web.Key, web.UID); exists(dir) {
		t.Error("the directory of the pod is still there")
	}
	want := []string{
		"default_web_1-2/main/0.log", "default_web_1-2/main/0.log.20260102-010000.gz",
		"default_web_1-2/main/0.log.20260102-020000", "default_web_1-2/main/1.log",
	}
	if got := l.keptNames(t); !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
	if first, next := l.read(t, web), l.read(t, second); first != "a\nb\nc\n" || next != "d\n" {
		t.Errorf("read %q and %q, want every line of the two runs", first, next)
	}
	if err := l.RemovePod(web.Key, web.UID); err != nil { // once more, after a reply that was lost
		t.Fatal(err)
	}
	if got := l.keptNames(t); !slices.Equal(got, want) {
		t.Errorf("removed once more, kept are %q, want %q", got, want)
	}
}

func TestARunThatIsRemovedLeavesItsLogToTheNode(t *testing.T) {
	l := keeping(t)
	second := web
	second.Attempt = 1
	l.lay(t, web, "0.log.20260102-020000", full("a"), 2)
	l.lay(t, web, "0.log", full("b"), 3)
	l.lay(t, web, "1.log", full("c"), 4)
	if err := l.RemoveRun(web); err != nil {
		t.Fatal(err)
	}
	if path, _ := l.Path(web); exists(path) || exists(path+".20260102-020000") {
		t.Error("the log still counts as the pod's")
	}
	if first, next := l.read(t, web), l.read(t, second); first != "a\nb\n" || next != "c\n" {
		t.Errorf("read %q and %q", first, next)
	}
	of, err := l.Files(web.Key, web.UID)
	if err != nil || len(of) != 1 || of[0].Run != second || of[0].Rotated || of[0].Packed {
		t.Errorf("the pod has %+v, %v, want the log of its second run", of, err)
	}
}

// An agent may be killed between any two renames. The next one removes the pod once more.
func TestKeepingThatWasCutShortLosesAndRepeatsNothing(t *testing.T) {
	files := []struct{ name, text string }{
		{"0.log.20260102-010000.gz", string(packed([]byte(full("a"))))},
		{"0.log.20260102-010000", full("a")}, // its packing was cut short after the rename
		{"0.log.20260102-020000", full("b")},
		{"0.log", full("c")},
	}
	for cut := range len(files) + 1 {
		t.Run(fmt.Sprint("after ", cut), func(t *testing.T) {
			l := keeping(t)
			for _, f := range files {
				l.lay(t, web, f.name, f.text, 1)
			}
			path, _ := l.Path(web)
			kept := filepath.Join(l.Pods, ".kept-node", "default_web_1-2", "main")
			if err := os.MkdirAll(kept, 0o750); err != nil {
				t.Fatal(err)
			}
			for i, f := range files[:cut] {
				to := filepath.Join(kept, f.name)
				if i == 0 { // the first step drops the double
					to = filepath.Join(l.Pods, "dropped")
				}
				if err := os.Rename(filepath.Join(filepath.Dir(path), f.name), to); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.RemovePod(web.Key, web.UID); err != nil {
				t.Fatal(err)
			}
			if got := l.read(t, web); got != "a\nb\nc\n" {
				t.Errorf("read %q, want each line once", got)
			}
		})
	}
}

// A static pod has the UID of its file: it comes back with it, and its runs count from 0 again.
func TestAPodThatComesBackAddsToWhatIsKept(t *testing.T) {
	l := keeping(t)
	for life, text := range []string{"first", "second", "third"} {
		l.lay(t, web, "0.log.20260102-000000", full(text+" begins"), 1)
		l.lay(t, web, "0.log", full(text+" ends"), 2+life)
		if life > 0 { // while it runs, both are readable apart
			kept := web
			kept.Kept = true
			if now, before := l.read(t, web), l.read(t, kept); !strings.HasPrefix(now, text) || !strings.HasPrefix(before, "first") {
				t.Errorf("read %q, and %q as kept", now, before)
			}
		}
		if err := l.RemovePod(web.Key, web.UID); err != nil {
			t.Fatal(err)
		}
	}
	want := "first begins\nfirst ends\nsecond begins\nsecond ends\nthird begins\nthird ends\n"
	if got := l.read(t, web); got != want {
		t.Errorf("read %q, want %q", got, want)
	}
}

func TestTheSweepKeepsTheLogsOfItsOwnPods(t *testing.T) {
	l := keeping(t)
	for _, name := range []string{"db", "theirs"} {
		l.lay(t, runOf(name, types.UID(name+"-uid")), "0.log", full(name), 1)
	}
	for _, name := range []string{"db", "theirs"} { // an earlier sweep was cut short, of this node and of another one
		dir, _ := l.PodDir(node.Key{Namespace: "default", Name: name}, types.UID(name+"-uid"))
		if err := os.Rename(dir, filepath.Join(l.Pods, goneMark+filepath.Base(dir))); err != nil {
			t.Fatal(err)
		}
	}
	l.lay(t, runOf("other", "db-uid"), "0.log", full("other"), 1)
	if err := l.SweepPods(dbGoes); err != nil {
		t.Fatal(err)
	}
	if got, want := l.keptNames(t), []string{"default_db_db-uid/main/0.log", "default_other_db-uid/main/0.log"}; !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
	l.wantPods(t, ".kept-node")
}

func TestFilesThatAreKeptGoOneByOne(t *testing.T) {
	l := keeping(t)
	l.lay(t, web, "0.log.20260102-020000", full("a"), 2)
	l.lay(t, web, "0.log", full("b"), 3)
	if err := l.RemovePod(web.Key, web.UID); err != nil {
		t.Fatal(err)
	}
	files, err := l.Kept.Files()
	if err != nil || len(files) != 2 {
		t.Fatalf("kept %+v, %v, want two files", files, err)
	}
	slices.SortFunc(files, func(a, b node.LogFile) int { return a.Written.Compare(b.Written) })
	for range 2 { // the second time it is gone
		if err := l.Kept.Remove(files[0]); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.read(t, web); got != "b\n" || len(l.keptNames(t)) != 1 {
		t.Errorf("read %q, and kept %q, want the later line", got, l.keptNames(t))
	}
	if err := l.Kept.Remove(files[1]); err != nil {
		t.Fatal(err)
	}
	if got := l.read(t, web); !strings.Contains(got, node.ErrNotFound.Error()) {
		t.Errorf("read %q, want that there is no such log", got)
	}
	l.wantPods(t)
}

func TestCleanLeavesNothingThatWasKept(t *testing.T) {
	l := keeping(t)
	l.lay(t, web, "0.log", full("a"), 1)
	if err := errors.Join(l.RemovePod(web.Key, web.UID), l.Clean(nil)); err != nil {
		t.Fatal(err)
	}
	if exists(l.Pods) || len(l.keptNames(t)) != 0 {
		t.Errorf("%s is still there, or what was in it is still listed", l.Pods)
	}
}

// A pod that may write below /var/log may plant links there. None of them is followed, and none is kept.
func TestKeepingGoesThroughNoLink(t *testing.T) {
	l := keeping(t)
	db := runOf("db", "db-uid")
	l.lay(t, db, "0.log", full("of db"), 1)
	dbDir, _ := l.PodDir(db.Key, db.UID)
	webDir, _ := l.PodDir(web.Key, web.UID)
	if err := errors.Join(
		os.MkdirAll(filepath.Join(webDir, "main"), 0o755),
		os.Symlink(filepath.Join(dbDir, "main"), filepath.Join(webDir, "other")),
		os.Symlink(filepath.Join(dbDir, "main/0.log"), filepath.Join(webDir, "main/0.log")),
		l.RemovePod(web.Key, web.UID),
	); err != nil {
		t.Fatal(err)
	}
	if got := l.keptNames(t); len(got) != 0 {
		t.Errorf("kept %q, want nothing", got)
	}
	if err := os.Mkdir(filepath.Join(l.Pods, ".kept-node"), 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	// The directory of what is kept stands for another place.
	if err := os.Symlink(dbDir, filepath.Join(l.Pods, ".kept-node", "default_web_1-2")); err != nil {
		t.Fatal(err)
	}
	if got := l.read(t, web); strings.Contains(got, "of db") {
		t.Errorf("read %q through a link", got)
	}
	if got := l.read(t, db); got != "of db\n" {
		t.Errorf("the other pod's log is %q", got)
	}
}

// A full disk has no room for another directory. Pods are deleted all the same.
func TestWhatCannotBeKeptIsRemoved(t *testing.T) {
	l := keeping(t)
	l.lay(t, web, "0.log", full("a"), 1)
	if err := os.WriteFile(filepath.Join(l.Pods, ".kept-node"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.RemovePod(web.Key, web.UID); err != nil {
		t.Error(err)
	}
	l.wantPods(t, ".kept-node")
}
