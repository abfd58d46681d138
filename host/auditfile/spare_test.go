package auditfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// fill takes all space that is left on the disk of the file. The function that it returns gives it back.
func (f *File) fill(t *testing.T) (free func()) {
	t.Helper()
	path := filepath.Join(filepath.Dir(f.cfg.Path), "filler")
	filler, err := os.Create(path)
	for err == nil {
		_, err = filler.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	if err := filler.Close(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// exhaust appends lines until the disk takes no more of them.
func (f *File) exhaust(t *testing.T) (written []string) {
	t.Helper()
	for range 5000 {
		line := fmt.Sprintf("ordinary %d %s", len(written), strings.Repeat("x", 400))
		if err := f.Append([]byte(line)); errors.Is(err, unix.ENOSPC) {
			return written
		} else if err != nil {
			t.Fatal(err)
		}
		written = append(written, line)
	}
	t.Fatal("the disk takes lines without end")
	return nil
}

func (f *File) mustReserved(t *testing.T, line string) (displaced int) {
	t.Helper()
	displaced, err := f.AppendReserved([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return displaced
}

func TestAFullDiskTakesReservedLinesWithoutEndAndLosesNoneOfTheLog(t *testing.T) {
	f := smallDisk(t, "2m")
	f.must(t, "first")
	free := f.fill(t)
	ordinary := append([]string{"first"}, f.exhaust(t)...)
	var kept []string
	displaced := 0
	for i := range 3000 {
		line := fmt.Sprintf("deletion %d %s", i, strings.Repeat("y", 400))
		kept = append(kept, line)
		displaced += f.mustReserved(t, line)
	}
	if displaced == 0 || displaced == len(kept) {
		t.Fatalf("%d of %d lines were overwritten, want some", displaced, len(kept))
	}
	if err := f.Append([]byte("other")); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("an ordinary line: %v, want ENOSPC", err)
	}
	want := append(slices.Clone(ordinary), kept[displaced:]...)
	slices.Reverse(want)
	if got := f.all(t); !slices.Equal(got, want) {
		t.Errorf("on the full disk: got %d lines, want %d: the whole log, and the last that waited", len(got), len(want))
	}
	other := New(f.cfg) // the next agent
	if err := other.Prepare(); err != nil {
		t.Fatal(err)
	}
	if got := other.all(t); !slices.Equal(got, want) {
		t.Errorf("after a restart: got %d lines, want %d", len(got), len(want))
	}
	free()
	other.must(t, "afterwards")
	if got := other.all(t); !slices.Equal(got, append([]string{"afterwards"}, want...)) {
		t.Errorf("with space: got %d lines, want %d", len(got), len(want)+1)
	}
	if got := strings.Count(text(t, f.cfg.Path), "deletion"); got != len(kept)-displaced {
		t.Errorf("the file has %d of the lines that have waited, want %d", got, len(kept)-displaced)
	}
	if len(other.spare.lines()) != 0 {
		t.Error("lines that are in the log still wait")
	}
	other.close()
	other.spare.close()
}

func TestFollowersSeeReservedLines(t *testing.T) {
	f := smallDisk(t, "1m")
	f.must(t, "first")
	f.fill(t)
	f.exhaust(t)
	_, at, _ := f.After(0)
	f.mustReserved(t, "deletion")
	if lines, _, all := f.After(at); !all || len(lines) != 1 || string(lines[0]) != "deletion" {
		t.Errorf("got %q, %t", lines, all)
	}
}

func TestOnlyAFullDiskSendsLinesToTheSpareRoom(t *testing.T) {
	f := newFile(t, nil)
	f.must(t, "first")
	dir := filepath.Dir(f.cfg.Path)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := f.AppendReserved([]byte("deletion")); !errors.Is(err, unix.ENOENT) {
		t.Errorf("got %v, want that the directory is gone", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f.mustReserved(t, "after")
	if got := text(t, f.cfg.Path); got != "after\n" {
		t.Errorf("got %q", got)
	}
}

func TestWhatACrashLeavesInTheSpareRoomIsRead(t *testing.T) {
	for _, c := range []struct {
		name, text string
		turn       int
		want       string
	}{
		{"nothing", "", 0, ""},
		{"no turn", "x\ny\n", 0, ""},
		{"a turn that is none", "turn -3\ny\n", 0, ""},
		{"a turn alone", "turn 3\n", 3, ""},
		{"lines", "turn 3\none\ntwo\n", 3, "one two"},
		{"a line that was cut", "turn 3\none\ntw", 3, "one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := make([]byte, spareHalf)
			copy(text, c.text)
			got := readHalf(text)
			var lines []string
			for _, line := range got.lines {
				lines = append(lines, string(line))
			}
			if got.turn != c.turn || strings.Join(lines, " ") != c.want {
				t.Errorf("got turn %d and %q, want %d and %q", got.turn, lines, c.turn, c.want)
			}
		})
	}
}
