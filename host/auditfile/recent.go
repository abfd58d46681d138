package auditfile

import "slices"

const (
	recentLines = 1024
	recentBytes = 1 << 20
)

// recent holds the latest lines for followers.
type recent struct {
	lines [][]byte
	bytes int
	end   uint64 // how many lines were added so far
}

func (r *recent) add(line []byte) {
	r.lines = append(r.lines, slices.Clone(line))
	r.bytes += len(line)
	r.end++
	drop := 0
	for len(r.lines)-drop > recentLines || r.bytes > recentBytes && len(r.lines)-drop > 1 {
		r.bytes -= len(r.lines[drop])
		drop++
	}
	r.lines = slices.Delete(r.lines, 0, drop)
}

// Changed returns a channel that is closed by the next line.
func (f *File) Changed() <-chan struct{} { return f.bell.Heard() }

// After returns the lines after a position, and the position after them. It reports false if some of them are gone.
func (f *File) After(at uint64) (lines [][]byte, next uint64, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.recent.end - uint64(len(f.recent.lines))
	if at < first {
		return nil, f.recent.end, false
	}
	return slices.Clone(f.recent.lines[at-first:]), f.recent.end, true
}
