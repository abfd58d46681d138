package auditfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// spareHalf is the size of each half of the spare room, in bytes: it holds some 150 requests.
const spareHalf = 128 << 10

// spare is room that is on the disk before it is full. It takes lines without end: of its two halves the older one is
// overwritten when both are full. A half begins with a line that holds its turn, and zeros follow its last line.
type spare struct {
	path string
	file *os.File // nil if there is no room
	half [2]half
	last int // the half that takes lines
}

type half struct {
	turn  int // 0 if it is empty
	lines [][]byte
	size  int
}

// prepare makes the room, or finds what an earlier agent has left in it.
func (s *spare) prepare() error {
	if s.file != nil && samePlace(s.file, s.path) {
		return nil
	}
	s.close()
	opened, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	info, err := opened.Stat()
	if err == nil && !info.Mode().IsRegular() {
		return errors.Join(errors.New("is no regular file"), opened.Close())
	}
	if err == nil && info.Size() != 2*spareHalf {
		// Bytes, not a reservation: a write into reserved space may still need some.
		if _, err = opened.WriteAt(make([]byte, 2*spareHalf), 0); err != nil {
			return errors.Join(err, os.Remove(s.path), opened.Close())
		}
		err = opened.Truncate(2 * spareHalf)
	}
	if err == nil && len(s.lines()) == 0 { // or else they are newer than what is there
		err = s.find(opened)
	}
	if err != nil {
		return errors.Join(err, opened.Close())
	}
	s.file = opened
	return nil
}

func (s *spare) close() {
	if s.file != nil {
		_ = s.file.Close() // every write has been checked
		s.file = nil
	}
}

// find reads both halves.
func (s *spare) find(opened *os.File) error {
	for i := range s.half {
		text := make([]byte, spareHalf)
		if _, err := opened.ReadAt(text, int64(i)*spareHalf); err != nil {
			return err
		}
		s.half[i] = readHalf(text)
		if s.half[i].turn > s.half[s.last].turn {
			s.last = i
		}
	}
	return nil
}

// readHalf returns what a half holds. One whose first line is no turn is empty, and a last line without an end was cut
// by a crash.
func readHalf(text []byte) (h half) {
	text, _, _ = bytes.Cut(text, []byte{0})
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	if _, err := fmt.Sscanf(string(lines[0]), turnLine, &h.turn); err != nil || h.turn <= 0 {
		return half{}
	}
	h.lines, h.size = lines[1:], len(text)
	return h
}

const turnLine = "turn %d"

// add keeps a line. It returns how many older ones it has overwritten.
func (s *spare) add(line []byte) (displaced int, err error) {
	into := &s.half[s.last]
	if into.turn == 0 || into.size+len(line)+1 > spareHalf {
		if displaced, err = s.turn(); err != nil {
			return 0, err
		}
		into = &s.half[s.last]
	}
	if into.size+len(line)+1 > spareHalf {
		return displaced, unix.EMSGSIZE
	}
	if _, err := s.file.WriteAt(append(bytes.Clone(line), '\n'), int64(s.last)*spareHalf+int64(into.size)); err != nil {
		return displaced, err
	}
	into.lines, into.size = append(into.lines, bytes.Clone(line)), into.size+len(line)+1
	return displaced, nil
}

// turn empties the older half, and lets it take lines.
func (s *spare) turn() (displaced int, err error) {
	next := 1 - s.last
	fresh := make([]byte, spareHalf)
	head := fmt.Sprintf(turnLine+"\n", s.half[s.last].turn+1)
	copy(fresh, head)
	if _, err := s.file.WriteAt(fresh, int64(next)*spareHalf); err != nil {
		return 0, err
	}
	displaced = len(s.half[next].lines)
	s.half[next] = half{turn: s.half[s.last].turn + 1, size: len(head)}
	s.last = next
	return displaced, nil
}

// lines returns what is kept, the oldest first.
func (s *spare) lines() [][]byte {
	return append(append([][]byte{}, s.half[1-s.last].lines...), s.half[s.last].lines...)
}

// clear forgets all lines, which are in the log now. If the disk does not, the next agent adds them once more.
func (s *spare) clear() {
	if len(s.lines()) == 0 {
		return
	}
	s.half, s.last = [2]half{}, 0
	if s.file != nil {
		_, _ = s.file.WriteAt(make([]byte, 2*spareHalf), 0)
	}
}
