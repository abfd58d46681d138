package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

const (
	longestWord = 512     // bytes of a name
	mostSeries  = 1 << 16 // in one sample
	latest      = 1 << 40 // seconds since 1970
	longestStep = 24 * 60 * 60
)

// errDamaged reports a record that no encoder has written.
var errDamaged = errors.New("the record makes no sense")

// Decoder reads the records of one segment.
type Decoder struct {
	Step int64 // seconds between samples, once the header is read
	state
}

// Encoder returns an encoder that goes on behind the last record.
func (d *Decoder) Encoder() Encoder {
	return Encoder{state: state{d.at, slices.Clone(d.slots)}}
}

// At returns the time of the last sample.
func (d *Decoder) At() int64 { return d.at }

// Next reads a record. It returns no sample for the header. A sample is valid until the next call. After an error the
// rest of the segment cannot be read.
func (d *Decoder) Next(record []byte) (*Sample, error) {
	if d.Step == 0 {
		return nil, d.header(record)
	}
	r := reader{rest: record}
	d.at += int64(r.number(latest))
	if d.at > latest {
		r.bad = true
	}
	d.end(&r)
	d.begin(&r)
	for i := range d.slots {
		r.figures(&d.slots[i].Figures)
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errDamaged
	}
	return &Sample{At: d.at, Of: d.slots}, nil
}

func (d *Decoder) header(record []byte) error {
	if len(record) <= len(magic) || string(record[:len(magic)]) != magic {
		return errDamaged
	}
	if got := record[len(magic)]; got != version {
		return fmt.Errorf("the segment has version %d, this agent reads %d", got, version)
	}
	r := reader{rest: record[len(magic)+1:]}
	step := r.number(longestStep)
	if r.bad || len(r.rest) > 0 || step == 0 {
		return errDamaged
	}
	d.Step = int64(step)
	return nil
}

// end drops the series that have ended.
func (d *Decoder) end(r *reader) {
	place, dropped := 0, 0
	for n := r.number(uint64(len(d.slots))); n > 0 && !r.bad; n-- {
		place += int(r.number(mostSeries))
		if at := place - dropped; r.bad || at >= len(d.slots) || at < 0 {
			r.bad = true
			return
		}
		d.slots = slices.Delete(d.slots, place-dropped, place-dropped+1)
		dropped++
	}
}

func (d *Decoder) begin(r *reader) {
	for n := r.number(mostSeries); n > 0 && !r.bad; n-- {
		s := &Series{UID: types.UID(r.word()), Key: node.Key{Namespace: r.word(), Name: r.word()}}
		s.MemoryLimit, s.CPULimit = r.number(1<<64-1), r.number(1<<64-1)
		d.slots = append(d.slots, Entry{Series: s})
	}
	if len(d.slots) > mostSeries {
		r.bad = true
	}
}

// reader takes a record apart. Once it is bad, it returns zeros.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) number(most uint64) uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > most {
		r.bad = true
	}
	if r.bad {
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) change() uint64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.bad = true
	}
	if r.bad {
		return 0
	}
	r.rest = r.rest[n:]
	return uint64(v)
}

func (r *reader) word() string {
	n := r.number(longestWord)
	if uint64(len(r.rest)) < n {
		r.bad = true
	}
	if r.bad {
		return ""
	}
	word := string(r.rest[:n])
	r.rest = r.rest[n:]
	return word
}

func (r *reader) figures(f *Figures) {
	if len(r.rest) == 0 {
		r.bad = true
	}
	if r.bad {
		return
	}
	head := r.rest[0]
	r.rest = r.rest[1:]
	cpu := uint64(head & restOfCPU)
	if cpu == restOfCPU {
		cpu += r.number(1 << 62)
	}
	f.CPU = int64(cpu) - 1
	if head&tasksChanged != 0 {
		f.Tasks += r.change()
	}
	if head&memoryChanged != 0 {
		f.Pages += r.change()
	}
}
