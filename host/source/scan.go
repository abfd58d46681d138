package source

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"
)

const (
	// settled is the time for which a file must be unchanged before it counts as whole. It does not apply if an event
	// has shown that the writer closed the file.
	settled = time.Second
	// vanished is the time for which a file must be gone before its pods end: editors move the old file away before
	// they write the new one.
	vanished = 100 * time.Millisecond
)

// file remembers one file.
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
	unsettled time.Duration // when to look again; 0 if no file is being written
}

func (s *scan) batch() batch {
	var readings []reading
	moving := false
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		readings = append(readings, s.files[path].reading)
		moving = moving || !s.files[path].gone.IsZero()
	}
	b := collect(readings...)
	b.moving = moving
	return b
}

// scan looks at the paths that are there and at the earlier ones.
func (f *File) scan(paths []string, written map[string]bool, now time.Time) scan {
	s := scan{files: map[string]*file{}}
	for _, path := range paths {
		s.files[path] = nil
	}
	for path := range f.files {
		s.files[path] = nil
	}
	for path := range s.files {
		seen, wait := f.look(path, written[path], now)
		if wait > 0 && (s.unsettled == 0 || wait < s.unsettled) {
			s.unsettled = wait
		}
		s.changed = s.changed || !f.files[path].same(seen)
		if s.files[path] = seen; seen == nil {
			delete(s.files, path)
		}
	}
	return s
}

// look returns the present content of one path, or nil if there is no file. It returns the earlier content if the file
// has not changed, and with the time to wait if the file is not settled.
func (f *File) look(path string, written bool, now time.Time) (seen *file, wait time.Duration) {
	info, err := os.Stat(path)
	if err == nil {
		seen, wait, err = f.see(path, info, written, now)
	}
	switch {
	case absent(err) && !dangles(path):
		return f.files[path].missed(now)
	case err != nil:
		return &file{reading: reading{origin: path, err: cannotRead(err)}}, 0
	case seen != nil:
		seen.gone = time.Time{}
	}
	return seen, wait
}

// see looks at one path.
func (f *File) see(path string, info fs.FileInfo, written bool, now time.Time) (*file, time.Duration, error) {
	if info.IsDir() {
		return nil, 0, nil
	}
	if err := check(info); err != nil {
		return nil, 0, err
	}
	old, at := f.files[path], stampOf(info)
	if old != nil && old.stamp == at && !written {
		return old, 0, nil
	}
	// At the start only a file with running pods is waited for. A file that is written while
	// others are looked at is younger than now.
	age := now.Sub(info.ModTime())
	if age.Abs() < f.settled && !written && (!f.first || old != nil) {
		return old, f.settled - age, nil
	}
	data, err := slurp(path, info)
	switch {
	case errors.Is(err, errInMotion):
		return old, f.settled, nil
	case err != nil:
		return nil, 0, err
	}
	seen := &file{stamp: at, digest: sha256.Sum256(data)}
	if old != nil && old.digest == seen.digest {
		seen.reading = old.reading
		return seen, 0, nil
	}
	seen.reading = f.read(path, data, now)
	return seen, 0, nil
}

// absent reports whether there is nothing at a path: neither it nor its directory.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// dangles reports whether a path that leads nowhere is a link that is itself there.
func dangles(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// missed keeps a missing file for a moment longer.
func (f *file) missed(now time.Time) (*file, time.Duration) {
	if f == nil {
		return nil, 0
	}
	if f.gone.IsZero() {
		f.gone, f.stamp = now, stamp{} // a file that comes back has to be read
	}
	left := vanished - now.Sub(f.gone)
	if left <= 0 {
		return nil, 0
	}
	return f, left
}

// same reports whether two readings of a path deliver the same.
func (f *file) same(other *file) bool {
	if f == nil || other == nil {
		return f == other
	}
	return f.digest == other.digest && (f.err == nil) == (other.err == nil) &&
		(f.err == nil || f.err.Error() == other.err.Error())
}
