package journal

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
)

const (
	// spareCount bounds the records that can be written while another program takes each byte that gets free.
	spareCount = 16
	// spareSize has room for the record of an ordinary pod.
	spareSize = 16 << 10
)

// spares are files that give their place on a full disk to a record: it is written over one of them, which takes no space.
// The space of a file that is removed may be another's at once, a container's that writes without end. A file system that copies on
// write, such as btrfs or zfs, takes new space even to write over a file: a full one may refuse the record all the same.
type spares struct {
	disk disk
	dir  string
	log  *slog.Logger

	mu   sync.Mutex
	left []string
}

// newSpares finds the files that an earlier process has left. One that became a record is shorter: its other name, which a
// power cut may leave, must not be written over.
func newSpares(d disk, dir string, log *slog.Logger) *spares {
	s := &spares{disk: d, dir: dir, log: log}
	for i := range spareCount {
		if info, err := os.Stat(s.file(i)); err == nil && info.Size() == spareSize {
			s.left = append(s.left, s.file(i))
		}
	}
	return s
}

func (s *spares) file(i int) string { return filepath.Join(s.dir, fmt.Sprint(sparePrefix, i)) }

// fill makes the files that are not there, and returns false if the disk has no room. The next deletion tries again.
func (s *spares) fill() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.left) == spareCount {
		return true
	}
	there := map[string]bool{}
	for _, file := range s.left {
		there[file] = true
	}
	for i := range spareCount {
		if there[s.file(i)] {
			continue
		}
		if err := s.make(s.file(i)); err != nil {
			s.log.Warn("cannot reserve disk space for deletions in the journal", "file", s.file(i), "err", err)
			return false
		}
		s.left = append(s.left, s.file(i))
	}
	return true
}

// make removes what has the name first: it may be a record's other name.
func (s *spares) make(file string) error {
	if err := unlessMissing(s.disk.remove(file)); err != nil {
		return err
	}
	return s.disk.create(file, weight(spareSize))
}

// have reports whether so many records have a place.
func (s *spares) have(records int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.left) >= records
}

// create writes a file whole over one of the spares and gives it its name. It returns false if none can hold it.
func (s *spares) create(path string, data []byte) (made bool, err error) {
	if len(data) >= spareSize {
		return false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.left) == 0 {
		return false, nil
	}
	last := len(s.left) - 1
	file := s.left[last]
	s.left = s.left[:last]
	if err := s.disk.overwrite(file, data); err != nil {
		return true, err
	}
	return true, s.disk.rename(file, path)
}
