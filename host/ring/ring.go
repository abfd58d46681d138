package ring

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"nodal/node/frame"
	"nodal/node/history"
)

// parts is the number of segments that share the room and the time of a ring. The oldest goes at once, so that a ring
// may hold this much less than it has room for.
const parts = 16

// Config says where samples are kept, and how many.
type Config struct {
	Dir      string
	Step     time.Duration // between samples
	MaxBytes int64         // of all segments
	MaxAge   time.Duration // of a sample
}

// Ring holds samples. Append is for one goroutine; Read may be called beside it.
type Ring struct {
	cfg Config

	file    *os.File // the newest segment; nil if the next sample begins one
	size    int64    // its good bytes
	last    int64    // the time of its last sample
	encoder history.Encoder
	record  []byte
	frame   []byte

	mu       sync.Mutex
	segments []segment // the oldest first
}

// Open finds the segments that there are. It goes on with the newest, unless that cannot be read to its end.
func Open(cfg Config) (*Ring, error) {
	r := &Ring{cfg: cfg}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the history of usage: %w", err)
	}
	entries, err := os.ReadDir(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the history of usage: %w", err)
	}
	for _, e := range entries {
		if s, ok := segmentOf(e.Name()); ok {
			if info, err := e.Info(); err == nil {
				s.size = info.Size()
				r.segments = append(r.segments, s)
			}
		}
	}
	slices.SortFunc(r.segments, byNumber)
	if n := len(r.segments); n > 0 {
		r.resume(&r.segments[n-1])
	}
	return r, nil
}

// resume goes on with a segment, if all of its good part makes sense.
func (r *Ring) resume(s *segment) {
	path := filepath.Join(r.cfg.Dir, s.name())
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	var d history.Decoder
	good, err := decode(text, &d, func(*history.Sample) {})
	if err != nil || d.Step != r.step() || d.At() == 0 {
		return
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|unix.O_NOFOLLOW, 0)
	if err != nil {
		return
	}
	if err := file.Truncate(int64(good)); err != nil {
		_ = file.Close() // nothing was written
		return
	}
	r.file, r.size, r.last, r.encoder = file, int64(good), d.At(), d.Encoder()
	s.size = int64(good)
}

func (r *Ring) step() int64 { return int64(r.cfg.Step / time.Second) }

// Append adds a sample. After an error the sample is lost, and no other.
func (r *Ring) Append(s *history.Sample) error {
	begins := r.file == nil || r.full(s.At)
	r.frame = r.frame[:0]
	if begins {
		if err := r.begin(s.At); err != nil {
			return fmt.Errorf("begin a file of the history of usage: %w", err)
		}
		r.frame = frame.Append(r.frame, history.Header(r.step()))
	}
	r.record = r.encoder.Append(r.record[:0], s)
	r.frame = frame.Append(r.frame, r.record)
	if _, err := r.file.Write(r.frame); err != nil {
		r.abandon()
		return fmt.Errorf("write the history of usage: %w", err)
	}
	r.size += int64(len(r.frame))
	r.last = s.At
	r.mu.Lock()
	defer r.mu.Unlock()
	r.segments[len(r.segments)-1].size = r.size
	return nil
}

// full reports whether a sample belongs into a new segment. One of a time that has been already does: the clock was set
// back.
func (r *Ring) full(at int64) bool {
	begun := r.segments[len(r.segments)-1].first
	return at <= r.last || r.size >= r.cfg.MaxBytes/parts || at-begun >= int64(r.cfg.MaxAge/time.Second)/parts
}

// begin makes a new segment, and removes the oldest to make room.
func (r *Ring) begin(at int64) error {
	r.closeFile()
	next := segment{number: 1, first: at}
	if n := len(r.segments); n > 0 {
		next.number = r.segments[n-1].number + 1
	}
	r.trim(at)
	if err := os.MkdirAll(r.cfg.Dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(r.cfg.Dir, next.name())
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	r.file, r.size, r.last, r.encoder = file, 0, 0, history.Encoder{}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.segments = append(r.segments, next)
	return nil
}

// trim removes the oldest segments, as far as they are too old, or too large together with a new one.
func (r *Ring) trim(at int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	room := r.cfg.MaxBytes - r.cfg.MaxBytes/parts
	sum := int64(0)
	for _, s := range r.segments {
		sum += s.size
	}
	age := int64(r.cfg.MaxAge / time.Second)
	for len(r.segments) > 0 {
		s := r.segments[0]
		if tooOld := s.first+age/parts <= at-age; sum <= room && !tooOld {
			return
		}
		_ = os.Remove(filepath.Join(r.cfg.Dir, s.name())) // one that stays is removed by the next agent
		sum -= s.size
		r.segments = r.segments[1:]
	}
}

// abandon cuts off what a failed write has left, and closes the segment. A segment without a sample goes.
func (r *Ring) abandon() {
	_ = r.file.Truncate(r.size) // a reader stops there anyway
	r.closeFile()
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.segments); r.size == 0 {
		_ = os.Remove(filepath.Join(r.cfg.Dir, r.segments[n-1].name()))
		r.segments = r.segments[:n-1]
	}
}

func (r *Ring) closeFile() {
	if r.file != nil {
		_ = r.file.Close() // every write has been checked
		r.file = nil
	}
}

// Close closes the newest segment. The ring must not be used any more.
func (r *Ring) Close() { r.closeFile() }
