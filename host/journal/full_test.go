package journal

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nodal/node"
)

// smallDisk mounts a file system of its own that a test can fill.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	err := unix.Mount("journal-test", dir, "tmpfs", 0, options)
	if errors.Is(err, unix.EPERM) {
		t.Skip("mounting a file system is not permitted here")
	}
	if err != nil {
		t.Fatalf("mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// fillUp leaves no byte on the disk.
func fillUp(t *testing.T, disk string) (filler string) {
	t.Helper()
	filler = filepath.Join(disk, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !isFull(err) {
		t.Fatalf("fill the disk: %v", err)
	}
	return filler
}

func hasBallast(j *Journal) bool {
	info, err := os.Stat(j.ballast.path)
	return err == nil && info.Size() == ballastSize
}

func checkNoSpace(t *testing.T, err error, dir string) {
	t.Helper()
	if !errors.Is(err, node.ErrNoSpace) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, want %v in %s", err, node.ErrNoSpace, dir)
	}
}

func TestAFullDiskRefusesRecordsAndTakesDeletions(t *testing.T) {
	disk := smallDisk(t, "size=2m")
	j := openJournal(t, filepath.Join(disk, "journal"))
	commit(t, j, put("pods/a", "1"), put("pods/b", "1"), put("pods/c", "1"), put("pods/d", "1"))
	filler := fillUp(t, disk)

	checkNoSpace(t, j.Commit(put("pods/a", "2")), j.dir)
	checkNoSpace(t, j.Commit(put("pods/new", "2")), j.dir)
	checkNoSpace(t, j.Commit(put("pods/a", "2"), put("pods/b", "2")), j.dir)
	checkNothingStaged(t, j.dir)
	if !hasBallast(j) {
		t.Error("Commit took the space that is kept back")
	}

	commit(t, j, gone("pods/a"))
	fillMore(t, filler)
	if !hasBallast(j) {
		t.Error("a deletion took the space that is kept back")
	}
	if err := j.CommitReserved(put("pods/b", "ending")); err != nil {
		t.Errorf("CommitReserved: %v", err)
	}
	if j.spares.have(spareCount) {
		t.Error("CommitReserved found space elsewhere: this test shows nothing")
	}
	if err := j.CommitReserved(put("pods/b", strings.Repeat("large", spareSize))); err != nil {
		t.Errorf("CommitReserved of a large record: %v", err)
	}
	if hasBallast(j) {
		t.Error("a large record found space elsewhere: this test shows nothing")
	}
	if err := j.CommitReserved(put("pods/c", "ending"), gone("pods/d")); err != nil {
		t.Errorf("CommitReserved of several: %v", err)
	}

	fillMore(t, filler)
	commit(t, j, gone("pods/b"))
	if hasBallast(j) {
		t.Error("the space is kept back again on a full disk")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	commit(t, j, gone("pods/never"))
	if !hasBallast(j) {
		t.Error("no space is kept back after a deletion on a disk that has some")
	}
	got, quarantined := reload(t, j)
	if want := (state{"pods/c": "ending"}); !maps.Equal(got, want) || len(quarantined) != 0 {
		t.Errorf("got %v, %v, want %v", got, quarantined, want)
	}
}

// fillMore takes the space that was freed since fillUp.
func fillMore(t *testing.T, filler string) {
	t.Helper()
	f, err := os.OpenFile(filler, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !isFull(err) {
		t.Fatalf("fill the disk: %v", err)
	}
}

func TestSeveralDeletionsGoThroughOnAFullDisk(t *testing.T) {
	disk := smallDisk(t, "size=2m")
	j := openJournal(t, filepath.Join(disk, "journal"))
	commit(t, j, put("pods/a", "1"), put("pods/b", "1"), put("pods/c", "1"))
	fillUp(t, disk)
	commit(t, j, gone("pods/a"), gone("pods/b"))
	if got, _ := reload(t, j); !maps.Equal(got, state{"pods/c": "1"}) {
		t.Errorf("got %v, want pods/c", got)
	}
}

func TestADiskWithoutInodesRefusesRecordsAndTakesDeletions(t *testing.T) {
	disk := smallDisk(t, "size=2m,nr_inodes=40")
	j := openJournal(t, filepath.Join(disk, "journal"))
	commit(t, j, put("pods/a", "1"))
	var full error
	for n := 0; full == nil; n++ {
		full = os.WriteFile(filepath.Join(disk, fmt.Sprint("file", n)), nil, 0o600)
	}
	checkNoSpace(t, j.Commit(put("pods/a", "2")), j.dir)
	if err := j.CommitReserved(put("pods/a", "ending")); err != nil {
		t.Errorf("CommitReserved: %v", err)
	}
	commit(t, j, gone("pods/a"))
	if got, _ := reload(t, j); len(got) != 0 {
		t.Errorf("got %v, want nothing", got)
	}
}

func TestAFullDiskCanBeOpened(t *testing.T) {
	disk := smallDisk(t, "size=1m")
	dir := filepath.Join(disk, "journal")
	j := openJournal(t, dir)
	commit(t, j, put("pods/a", "1"), put("pods/b", "1"))
	leaveTransaction(t, j)
	j.ballast.release()
	fillUp(t, disk)
	if got, _ := reload(t, j); !maps.Equal(got, state{"pods/a": "1", "pods/b": "1", "a": "2", "c": "2"}) {
		t.Errorf("got %v, want all that was committed", got)
	}
}
