package watch

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// follower looks at paths as a user of the package does.
func follower(t *testing.T, paths ...string) (f *Files, hear func(what string, change func() error)) {
	t.Helper()
	f = Open("the files of a test", slog.New(slog.DiscardHandler))
	t.Cleanup(f.Close)
	f.Follow(paths...)
	return f, func(what string, change func() error) {
		t.Helper()
		if err := change(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), Floor/2)
		defer cancel()
		if !f.Await(ctx) {
			t.Fatalf("not heard: %s", what)
		}
		f.Follow(paths...)
	}
}

func TestChangesOnTheWayToAFileAreHeard(t *testing.T) {
	dir := t.TempDir()
	deep, other := filepath.Join(dir, "a", "b"), filepath.Join(dir, "other")
	file := filepath.Join(deep, "file")
	_, hear := follower(t, file)
	hear("a directory that comes", func() error { return os.Mkdir(filepath.Dir(deep), 0o755) })
	hear("the one in it", func() error { return os.Mkdir(deep, 0o755) })
	hear("the file", func() error { return os.WriteFile(file, []byte("1"), 0o600) })
	hear("a change of it", func() error { return os.WriteFile(file, []byte("2"), 0o600) })
	hear("a directory that is moved away", func() error { return os.Rename(deep, other) })
	hear("a link in its place", func() error { return os.Symlink(other, deep) })
	hear("a file behind the link", func() error { return os.WriteFile(filepath.Join(other, "file"), []byte("3"), 0o600) })
}

func TestWhatIsNoLongerFollowedIsNotHeard(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	f, hear := follower(t, filepath.Join(one, "any"))
	f.Follow(filepath.Join(two, "any"))
	if list := f.notify.WatchList(); len(list) != 1 || list[0] != two {
		t.Errorf("%q are watched, want only %s", list, two)
	}
	hear("a file of the other directory", func() error { return os.WriteFile(filepath.Join(two, "x"), nil, 0o600) })
}

func TestWithoutInotifyTheContextStillEndsTheWait(t *testing.T) {
	f := &Files{notify: &fsnotify.Watcher{}, deaf: true}
	f.Follow(filepath.Join(t.TempDir(), "any"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if f.Await(ctx) {
		t.Error("it heard something")
	}
	f.Close()
}
