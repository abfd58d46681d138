package ring

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"nodal/node/frame"
	"nodal/node/history"
)

// segment is one file of a ring.
type segment struct {
	number uint64
	first  int64 // the time of its first sample
	size   int64
}

func (s segment) name() string { return fmt.Sprintf("%08d-%d.seg", s.number, s.first) }

func segmentOf(name string) (s segment, ok bool) {
	_, err := fmt.Sscanf(name, "%d-%d.seg", &s.number, &s.first)
	return s, err == nil && name == s.name()
}

func byNumber(a, b segment) int { return cmp.Compare(a.number, b.number) }

// decode calls do with each sample in the good part of a segment's text, and returns the length of that part.
func decode(text []byte, d *history.Decoder, do func(*history.Sample)) (good int, err error) {
	for rest := text; ; {
		record, behind, ok := frame.Next(rest)
		if !ok {
			return good, nil
		}
		sample, err := d.Next(record)
		if err != nil {
			return good, err
		}
		if sample != nil {
			do(sample)
		}
		rest, good = behind, len(text)-len(behind)
	}
}

// First returns the time of the oldest sample, or false if there is none.
func (r *Ring) First() (int64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.segments) == 0 {
		return 0, false
	}
	return r.segments[0].first, true
}

// Read calls do with each sample of the segments that may hold some of a time, the oldest first. A sample is valid during
// the call. Segments that cannot be read are left out; the error names them.
func (r *Ring) Read(since, until int64, do func(*history.Sample)) error {
	r.mu.Lock()
	segments := slices.Clone(r.segments)
	r.mu.Unlock()
	var errs []error
	for i, s := range segments {
		if s.first > until || i+1 < len(segments) && s.first < since && segments[i+1].first < since {
			continue
		}
		text, err := os.ReadFile(filepath.Join(r.cfg.Dir, s.name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed meanwhile
		}
		if err == nil {
			_, err = decode(text, &history.Decoder{}, do)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("read %s of the history of usage: %w", s.name(), err))
		}
	}
	return errors.Join(errs...)
}
