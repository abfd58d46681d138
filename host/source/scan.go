package source

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"
)

const (
	// settled is how long a file must not have been written before it is taken
	// for whole, where nobody has told that its writer closed it.
	settled = time.Second
	// vanished is how long a file must be gone before its pods are: editors move
	// the old file away before they write the new one.
	vanished = 100 * time.Millisecond
)

// file is what is remembered of one file.
type file struct {
	stamp  stamp
	digest [sha256.Size]byte
	gone   time.Time // when it was first missed
	reading
}

// scan is one look at all files.
type scan struct {
	files     map[string]*file
	changed   bool
	unsettled time.Duration   // when to look again, 0 when nothing is in motion
	unread    map[string]bool // what is in motion and was never read
}

func (s *scan) batch() batch {
	var readings []reading
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		readings = append(readings, s.files[path].reading)
	}
	b := collect(readings...)
	maps.Copy(b.keep, s.unread)
	return b
}

// scan looks at the paths that are there and at those that were.
func (f *File) scan(paths []string, written map[string]bool, now time.Time) scan {
	s := scan{files: map[string]*file{}, unread: map[string]bool{}}
	for _, path := range paths {
		s.files[path] = nil
	}
	for path := range f.files {
		s.files[path] = nil
	}
	for path := range f.unread {
		s.files[path] = nil
	}
	for path := range s.files {
		old := f.files[path]
		seen, wait := f.look(path, written[path], now)
		if wait > 0 && (s.unsettled == 0 || wait < s.unsettled) {
			s.unsettled = wait
		}
		if wait > 0 && seen == nil {
			s.unread[path] = true
		}
		s.changed = s.changed || f.unread[path] && !s.unread[path] // read now, or gone
		s.changed = s.changed || !old.same(seen)
		if s.files[path] = seen; seen == nil {
			delete(s.files, path)
		}
	}
	return s
}

// look returns what one path holds now: nil when there is no file, what was
// known when it has not changed or, with the time to wait, is not settled.
func (f *File) look(path string, written bool, now time.Time) (*file, time.Duration) {
	old := f.files[path]
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && !dangles(path) {
		return old.missed(now)
	}
	switch {
	case err != nil:
		return unread(path, err), 0
	case info.IsDir():
		return nil, 0
	}
	if err := check(info); err != nil {
		return unread(path, err), 0
	}
	at := stampOf(info)
	if old != nil && old.stamp == at && !written {
		return old, 0
	}
	// At the start only a file whose pods run already is waited for.
	waits := !f.first || f.before[path]
	if age := now.Sub(info.ModTime()); age >= 0 && age < f.settled && !written && waits {
		return old, f.settled - age
	}
	data, err := slurp(path)
	if err != nil {
		return unread(path, err), 0
	}
	seen := &file{stamp: at, digest: sha256.Sum256(data)}
	if old != nil && old.digest == seen.digest {
		seen.reading = old.reading
		return seen, 0
	}
	seen.reading = f.read(path, data, now)
	return seen, 0
}

func unread(path string, err error) *file {
	return &file{reading: reading{origin: path, err: cannotRead(err)}}
}

// dangles says whether a path that leads nowhere is itself there.
func dangles(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// missed keeps a file that is not there for a moment longer.
func (f *file) missed(now time.Time) (*file, time.Duration) {
	switch {
	case f == nil || !f.gone.IsZero() && now.Sub(f.gone) >= vanished:
		return nil, 0
	case !f.gone.IsZero():
		return f, vanished - now.Sub(f.gone)
	}
	missed := *f
	missed.gone = now
	missed.stamp = stamp{} // whatever comes back has to be read
	return &missed, vanished
}

// same says whether two readings of a path deliver the same.
func (f *file) same(other *file) bool {
	if f == nil || other == nil {
		return f == other
	}
	return f.digest == other.digest && (f.err == nil) == (other.err == nil) &&
		(f.err == nil || f.err.Error() == other.err.Error())
}
