package history

import (
	"encoding/binary"
	"slices"
)

const (
	magic   = "NH"
	version = 1

	restOfCPU     = 63 // in the byte of a series: more follows
	tasksChanged  = 1 << 6
	memoryChanged = 1 << 7
)

// Header returns the first record of a segment whose samples are so many seconds apart.
func Header(step int64) []byte {
	return binary.AppendUvarint(append([]byte(magic), version), uint64(step))
}

// state holds what a sample is compared with. Encoder and Decoder of a segment agree on it after each record.
type state struct {
	at    int64
	slots []Entry
}

// Encoder writes the samples of one segment. The zero value begins a segment, behind its header.
type Encoder struct {
	state
	order []int // places of the slots in the sample at hand; nil if they are the same
}

// Append adds the record of a sample, which is not earlier than the one before. A sample with the series of the one
// before costs no allocation, as long as there is room.
func (e *Encoder) Append(to []byte, s *Sample) []byte {
	to = binary.AppendUvarint(to, uint64(s.At-e.at))
	e.at = s.At
	if e.continues(s) {
		to = append(to, 0, 0)
	} else {
		to = e.change(to, s)
	}
	for i := range e.slots {
		from := &s.Of[e.place(i)]
		to = appendFigures(to, &e.slots[i].Figures, &from.Figures)
		e.slots[i] = *from
	}
	return to
}

func (e *Encoder) place(slot int) int {
	if e.order == nil {
		return slot
	}
	return e.order[slot]
}

// continues reports whether the sample has the same series in the same order.
func (e *Encoder) continues(s *Sample) bool {
	if len(s.Of) != len(e.slots) {
		return false
	}
	for i := range s.Of {
		if !same(s.Of[i].Series, e.slots[i].Series) {
			return false
		}
	}
	e.order = nil
	return true
}

// change adds which series have ended and begun, and finds the places of all in the sample.
func (e *Encoder) change(to []byte, s *Sample) []byte {
	places := make(map[Series]int, len(s.Of))
	for i := range s.Of {
		places[*s.Of[i].Series] = i
	}
	e.order = make([]int, 0, len(s.Of))
	var ended []int
	kept := e.slots[:0]
	for i, slot := range e.slots {
		place, goesOn := places[*slot.Series]
		if !goesOn {
			ended = append(ended, i)
			continue
		}
		kept, e.order = append(kept, slot), append(e.order, place)
		delete(places, *slot.Series)
	}
	e.slots = kept
	to = binary.AppendUvarint(to, uint64(len(ended)))
	before := 0
	for _, i := range ended {
		to = binary.AppendUvarint(to, uint64(i-before))
		before = i
	}
	begun := make([]int, 0, len(places))
	for _, place := range places {
		begun = append(begun, place)
	}
	slices.Sort(begun)
	to = binary.AppendUvarint(to, uint64(len(begun)))
	for _, place := range begun {
		to = appendSeries(to, s.Of[place].Series)
		e.slots, e.order = append(e.slots, Entry{Series: s.Of[place].Series}), append(e.order, place)
	}
	return to
}

func appendSeries(to []byte, s *Series) []byte {
	for _, word := range []string{string(s.UID), s.Key.Namespace, s.Key.Name} {
		word = word[:min(len(word), longestWord)]
		to = append(binary.AppendUvarint(to, uint64(len(word))), word...)
	}
	return binary.AppendUvarint(binary.AppendUvarint(to, s.MemoryLimit), s.CPULimit)
}

// appendFigures adds what has changed.
func appendFigures(to []byte, before, now *Figures) []byte {
	cpu := uint64(now.CPU + 1)
	head := byte(min(cpu, restOfCPU))
	if now.Tasks != before.Tasks {
		head |= tasksChanged
	}
	if now.Pages != before.Pages {
		head |= memoryChanged
	}
	to = append(to, head)
	if cpu >= restOfCPU {
		to = binary.AppendUvarint(to, cpu-restOfCPU)
	}
	if now.Tasks != before.Tasks {
		to = binary.AppendVarint(to, int64(now.Tasks-before.Tasks))
	}
	if now.Pages != before.Pages {
		to = binary.AppendVarint(to, int64(now.Pages-before.Pages))
	}
	return to
}
