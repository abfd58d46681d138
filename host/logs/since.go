package logs

import (
	"bufio"
	"fmt"
	"io"
	"time"
)

// slack is the largest step back of the times in a log at which Since misses no line: two
// streams are stamped side by side, and clocks are corrected.
const slack = time.Minute

const (
	// branches is the number of parts into which the search divides a range.
	branches = 16

	// glance is the number of bytes that are read in one place, so that a single line with
	// a wrong time does not mislead the search.
	glance = 1 << 10
)

// begin moves to offset, or beyond it to where entries can be that are not
// older than since.
func (s *source) begin(offset int64, since time.Time) error {
	if !since.IsZero() {
		info, err := s.file.Stat()
		if err != nil {
			return fmt.Errorf("look at log: %w", err)
		}
		offset = max(offset, startSince(s.file, info.Size(), since))
	}
	return s.seek(offset)
}

// startSince returns the offset of a line such that all lines before it are older than since. It samples the times of a
// few entries: some hundred KiB of a file of gigabytes. It misses no line if times go back by no more than slack.
//
// A clock that was set back by more leaves lines that seem to be from the future, then older ones, then younger ones
// again. The search stops at the first younger ones that it meets. It misses the lines from the future only if they
// fill less than one of its branches.
//
// A part without times, such as a hole that a crash left or a line without end, is not skipped: reading begins at the
// last older entry before it.
func startSince(file io.ReaderAt, size int64, since time.Time) int64 {
	s := search{file: file, since: since.Add(-slack), lines: bufio.NewReader(nil)}
	from, to := int64(0), size
	for to-from > blockSize {
		width := to - from
		from, to = s.narrow(from, to)
		if to-from > width/2 {
			break
		}
	}
	return from
}

// search looks for the last entry that is older than since.
type search struct {
	file   io.ReaderAt
	since  time.Time
	lines  *bufio.Reader
	parser parser
}

// narrow returns the part of a range that has the last older entry. The part begins with an older entry, or with the
// range.
func (s *search) narrow(from, to int64) (older, younger int64) {
	older = from
	step := (to - from) / branches
	for i := int64(1); i < branches; i++ {
		place := from + i*step
		at, isOlder, ok := s.look(place, place+step)
		if ok && !isOlder {
			return older, place
		}
		if ok {
			older = at
		}
	}
	return older, to
}

// look returns the offset of the first entry between place and end, and whether it and those
// next to it are older. It returns false if it can read none.
func (s *search) look(place, end int64) (at int64, older, ok bool) {
	next := place - 1 // if it ends a line, one begins at place
	end = min(end, place+maxEntry)
	s.lines.Reset(io.NewSectionReader(s.file, next, end-next))
	for begins := false; next < end; {
		// Of a line longer than the buffer it gives pieces. The first will do.
		piece, err := s.lines.ReadSlice('\n')
		e, isEntry := s.parser.parse(piece)
		if begins && isEntry {
			if !e.time.before(s.since) {
				return next, false, true
			}
			if !ok {
				at, ok, end = next, true, min(end, next+glance)
			}
		}
		if err != nil && err != bufio.ErrBufferFull {
			break
		}
		next += int64(len(piece))
		begins = err == nil
	}
	return at, true, ok
}
