package pastfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func all(text []byte) (int, error) { return len(text), nil }

func wantTexts(t *testing.T, l *Log, want ...string) {
	t.Helper()
	texts, err := l.Texts()
	must(t, err)
	var got []string
	for _, text := range texts {
		got = append(got, string(text))
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheFileBeforeTheLastGoes(t *testing.T) {
	l := New(filepath.Join(t.TempDir(), "pods"))
	t.Cleanup(l.Close)
	must(t, l.Begin([]byte("one")))
	must(t, l.Append([]byte(" and")))
	must(t, l.Begin([]byte("two")))
	wantTexts(t, l, "two", "one and")
	must(t, l.Begin([]byte("three")))
	wantTexts(t, l, "three", "two")
	if l.Size() != 5 {
		t.Errorf("the size is %d, want 5", l.Size())
	}
	info, err := os.Stat(l.path("now"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want that only root reads it", info, err)
	}
	must(t, l.Drop())
	wantTexts(t, l)
}

func TestAnotherAgentGoesOn(t *testing.T) {
	dir := t.TempDir()
	l := New(dir)
	must(t, l.Begin([]byte("good")))
	must(t, l.Append([]byte("torn")))
	next := New(dir) // the one before was killed
	t.Cleanup(next.Close)
	must(t, next.Resume(func(text []byte) (int, error) { return len("good"), nil }))
	must(t, next.Append([]byte(" again")))
	wantTexts(t, next, "good again")
	senseless := errors.New("it makes no sense")
	if err := New(dir).Resume(func([]byte) (int, error) { return 0, senseless }); !errors.Is(err, senseless) {
		t.Errorf("got %v, want %v", err, senseless)
	}
	if err := New(t.TempDir()).Resume(all); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v without a file", err)
	}
}

// TestACrashBetweenTheRenamesLosesNothing stops between the two renames of Begin, and before them.
func TestACrashBetweenTheRenamesLosesNothing(t *testing.T) {
	for crash, want := range map[string][]string{"before": {"one"}, "between": {"two", "one"}} {
		dir := t.TempDir()
		l := New(dir)
		must(t, l.Begin([]byte("one")))
		l.Close()
		must(t, os.WriteFile(filepath.Join(dir, "next"), []byte("two"), 0o600))
		if crash == "between" {
			must(t, os.Rename(filepath.Join(dir, "now"), filepath.Join(dir, "before")))
		}
		again := New(dir)
		must(t, again.Resume(all))
		wantTexts(t, again, want...)
		must(t, again.Begin([]byte("three"))) // over what a crash has left
		wantTexts(t, again, "three", want[0])
		again.Close()
	}
}

func TestAWriteThatFailsIsCutOff(t *testing.T) {
	l := New(t.TempDir())
	must(t, l.Begin([]byte("one")))
	_ = l.file.Close()
	if err := l.Append([]byte("two")); err == nil {
		t.Error("a write into a closed file succeeds")
	}
	if err := l.Append([]byte("two")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v, want that it has to be begun", err)
	}
	wantTexts(t, l, "one")
}
