package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// idleNode is a listing of pods whose directories have not changed for an hour.
func idleNode(t testing.TB, pods int) (l *Listing, of []node.LogRun) {
	t.Helper()
	l = &Listing{Layout: Layout{Pods: t.TempDir()}}
	for i := range pods {
		pod := node.LogRun{Key: node.Key{Namespace: "default", Name: fmt.Sprint("pod", i)}, UID: types.UID(fmt.Sprint("uid-", i))}
		of = append(of, pod)
		write(t, l.dir(t, pod), "0.log.20260102-150405", "0.log", "1.log")
		rest(t, l.dir(t, pod))
	}
	return l, of
}

// dir returns the directory of the logs of a pod's container.
func (l *Listing) dir(t testing.TB, pod node.LogRun) string {
	t.Helper()
	name, err := podDir(pod.Key, pod.UID)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(l.Layout.Pods, name, "main")
}

// write adds a line to each of some files.
func write(t testing.TB, dir string, names ...string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		file, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write(make([]byte, 1<<14)); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// rest has the directories of a container and of its pod not change for an hour.
func rest(t testing.TB, dir string) {
	t.Helper()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chtimes(d, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAListingKnowsWhatALookAtTheDiskFinds(t *testing.T) {
	l, of := idleNode(t, 2)
	dir := l.dir(t, of[0])
	for _, step := range []struct {
		name   string
		change func() error
	}{
		{"the first look", func() error { return nil }},
		{"nothing has changed", func() error { return nil }},
		{"a container writes", func() error { write(t, dir, "1.log"); return nil }},
		{"its log is rotated", func() error {
			return os.Rename(filepath.Join(dir, "1.log"), filepath.Join(dir, "1.log.20260102-150406"))
		}},
		{"and begun again", func() error { write(t, dir, "1.log"); return nil }},
		{"a file goes", func() error { return os.Remove(filepath.Join(dir, "0.log.20260102-150405")) }},
		{"a container comes, without a log", func() error { return os.Mkdir(filepath.Join(filepath.Dir(dir), "side"), 0o755) }},
		{"and writes", func() error { write(t, filepath.Join(filepath.Dir(dir), "side"), "0.log"); return nil }},
		{"a log becomes something else", func() error {
			path := filepath.Join(dir, "0.log")
			return os.Rename(path, filepath.Join(dir, "other"))
		}},
		{"the pod goes", func() error { return os.RemoveAll(filepath.Dir(dir)) }},
		{"and comes back", func() error { write(t, dir, "0.log"); return nil }},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		var want []node.LogFile
		for _, pod := range of {
			files, err := l.Layout.Files(pod.Key, pod.UID)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, files...)
		}
		if got, err := l.Files(of); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v\nwant %+v", step.name, got, err, want)
		}
	}
}

func TestADirectoryThatHasJustChangedIsReadAgain(t *testing.T) {
	l, of := idleNode(t, 1)
	dir := l.dir(t, of[0])
	now := time.Now()
	for range 2 {
		if _, err := l.Files(of); err != nil {
			t.Fatal(err)
		}
		write(t, dir, fmt.Sprint(time.Now().UnixNano()%1e9, ".log"))
		if err := os.Chtimes(dir, time.Time{}, now); err != nil { // as if the clock of files had stood still
			t.Fatal(err)
		}
	}
	if got, err := l.Files(of); err != nil || len(got) != 5 {
		t.Errorf("got %d files, %v, want 5", len(got), err)
	}
}

func TestAListingForgetsPods(t *testing.T) {
	l, of := idleNode(t, 3)
	for _, n := range []int{3, 1, 0} {
		if _, err := l.Files(of[:n]); err != nil || len(l.pods) != n {
			t.Errorf("%d pods are remembered, %v, want %d", len(l.pods), err, n)
		}
	}
}

// BenchmarkIdleRound measures a look at the logs of 100 pods that write nothing, and one that remembers nothing.
func BenchmarkIdleRound(b *testing.B) {
	l, of := idleNode(b, 100)
	b.Run("remembered", func(b *testing.B) {
		for b.Loop() {
			if files, err := l.Files(of); err != nil || len(files) != 300 {
				b.Fatal(len(files), err)
			}
		}
	})
	b.Run("anew", func(b *testing.B) {
		for b.Loop() {
			l.pods = nil
			if files, err := l.Files(of); err != nil || len(files) != 300 {
				b.Fatal(len(files), err)
			}
		}
	})
}
