package journal

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"nodal/node/store"
)

// Lock keeps other processes from opening the journal in a directory, until it is unlocked. A
// missing directory is locked by no process.
func Lock(dir string) (unlock func() error, err error) {
	f, err := lockFile(filepath.Join(dir, lockName))
	if errors.Is(err, fs.ErrNotExist) {
		return func() error { return nil }, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lock journal %s: %w", dir, err)
	}
	return func() error { return unlockFile(f) }, nil
}

// Is reports whether a directory holds a journal's files and no others. An empty directory does.
func Is(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, fmt.Errorf("look for a journal: %w", err)
	}
	foreign := func(e fs.DirEntry) bool { return !slices.Contains(names, e.Name()) }
	return !slices.ContainsFunc(entries, foreign), nil
}

// names are those of all files in a journal's directory.
var names = []string{lockName, ballastName, recordsName, transactionsName, quarantineName}

const (
	lockName         = "lock"
	ballastName      = "ballast"
	sparePrefix      = "spare-" // among the transactions: an older agent does not know these files
	recordsName      = "records"
	transactionsName = "transactions"
	quarantineName   = "quarantine"
)

// lockFile takes the lock that lets one process write. It is the kernel's, so
// it goes with the process however that ends.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = fmt.Errorf("in use by %s", holder(f))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	// The number only serves the message above: a full disk may refuse it.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	}
	return f, nil
}

// unlockFile gives the lock back also where a program that is being started has the
// file open for a moment more.
func unlockFile(f *os.File) error {
	return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close())
}

func holder(f *os.File) string {
	raw, _ := io.ReadAll(io.LimitReader(f, 20))
	if pid, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil {
		return fmt.Sprintf("process %d", pid)
	}
	return "another process"
}

// stripes let commits to different records run side by side, and commits to
// the same record one after the other. Two records may share a stripe.
type stripes struct {
	seed  maphash.Seed
	locks [64]sync.Mutex
}

// lock takes the stripes of all records, always in the same order, and returns
// what gives them back.
func (s *stripes) lock(records []store.Record) (unlock func()) {
	var taken [len(s.locks)]bool
	for _, r := range records {
		taken[maphash.String(s.seed, r.Name)%uint64(len(s.locks))] = true
	}
	for i := range taken {
		if taken[i] {
			s.locks[i].Lock()
		}
	}
	return func() {
		for i := range taken {
			if taken[i] {
				s.locks[i].Unlock()
			}
		}
	}
}
