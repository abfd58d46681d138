package past

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"nodal/node"
	"nodal/node/frame"
)

// mostJSON bounds what a record may hold once it is no longer compressed.
const mostJSON = 16 << 20

var errRecord = errors.New("a record makes no sense")

// File holds what was found in the text of a file.
type File struct {
	Revision  int64 // from which on the file is complete
	At        time.Time
	Good      int // bytes that make sense
	Manifests uint64
	keys      map[uint64]node.Key
	texts     map[uint64][]byte // of manifests
	last      map[node.Key]found
}

// found is a state that was not read yet.
type found struct {
	manifest uint64
	revision int64
	at       time.Time
	gone     bool
	text     []byte
}

// Read reads the text of a file up to a revision: all that is in it, or what is about one key.
func Read(text []byte, until int64, only *node.Key) (*File, error) {
	f := &File{keys: map[uint64]node.Key{}, texts: map[uint64][]byte{}, last: map[node.Key]found{}}
	rest, first := text, true
	for {
		record, behind, ok := frame.Next(rest)
		if !ok {
			break
		}
		if err := f.take(record, first, until, only); err != nil {
			return f, err
		}
		rest, first = behind, false
		f.Good = len(text) - len(rest)
	}
	if first {
		return f, fmt.Errorf("the file has no beginning: %w", errRecord)
	}
	return f, nil
}

func (f *File) take(record []byte, first bool, until int64, only *node.Key) error {
	r := fields{rest: record}
	kind := r.byte()
	if first != (kind == kindBegin) {
		return fmt.Errorf("record %q: %w", kind, errRecord)
	}
	switch kind {
	case kindBegin:
		if v := r.uvarint(); v != version && !r.short {
			return fmt.Errorf("the file has version %d, not %d: %w", v, version, node.ErrUnsupported)
		}
		f.Revision, f.At = r.varint(), time.UnixMilli(r.varint())
	case kindManifest:
		number, key := r.uvarint(), node.Key{Namespace: r.text(), Name: r.text()}
		f.Manifests = number + 1
		if only == nil || key == *only {
			f.keys[number], f.texts[number] = key, r.rest
		}
	case kindState:
		s := found{manifest: r.uvarint(), revision: r.varint(), at: time.UnixMilli(r.varint()), gone: r.byte() == 1, text: r.rest}
		if key, wanted := f.keys[s.manifest]; wanted && s.revision <= until {
			f.last[key] = s
		}
	default:
		return fmt.Errorf("record %q: %w", kind, errRecord)
	}
	if r.short {
		return fmt.Errorf("record %q is too short: %w", kind, errRecord)
	}
	return nil
}

// Present returns the pods that were there at the end.
func (f *File) Present() []node.Key {
	var keys []node.Key
	for key, s := range f.last {
		if !s.gone {
			keys = append(keys, key)
		}
	}
	return keys
}

// State returns the last state of a pod. It returns nil if there is none.
func (f *File) State(key node.Key) (*State, error) {
	last, there := f.last[key]
	if !there {
		return nil, nil
	}
	var stays fixed
	var moves moving
	if err := errors.Join(decode(f.texts[last.manifest], &stays), decode(last.text, &moves)); err != nil {
		return nil, fmt.Errorf("read the state of pod %s at revision %d: %w", key, last.revision, err)
	}
	return &State{
		Revision: last.revision, At: last.at, Key: key, Gone: last.gone, Status: moves.Status,
		Pod: &node.Pod{Object: stays.Object, Source: stays.Source, Accepted: stays.Accepted, Deletion: moves.Deletion},
	}, nil
}

// Everything is the revision up to which all is read.
const Everything = math.MaxInt64

func decode(text []byte, to any) error {
	inflated := flate.NewReader(bytes.NewReader(text))
	return json.NewDecoder(io.LimitReader(inflated, mostJSON)).Decode(to)
}

// fields reads a record from its beginning. What is missing is zero, and makes the record short.
type fields struct {
	rest  []byte
	short bool
}

func (r *fields) byte() (b byte) {
	if len(r.rest) == 0 {
		r.short = true
		return 0
	}
	b, r.rest = r.rest[0], r.rest[1:]
	return b
}

func (r *fields) uvarint() uint64 {
	n, size := binary.Uvarint(r.rest)
	return advance(r, n, size)
}

func (r *fields) varint() int64 {
	n, size := binary.Varint(r.rest)
	return advance(r, n, size)
}

func advance[T any](r *fields, n T, size int) (none T) {
	if size <= 0 {
		r.short = true
		return none
	}
	r.rest = r.rest[size:]
	return n
}

func (r *fields) text() string {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.short, r.rest = true, nil
		return ""
	}
	text := string(r.rest[:n])
	r.rest = r.rest[n:]
	return text
}
