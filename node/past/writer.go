package past

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/maphash"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/frame"
)

// version is that of the table in the package comment.
const version = 1

const (
	kindBegin    = 'B'
	kindManifest = 'M'
	kindState    = 'S'
)

// Writer turns states into the frames of one file. It keeps next to nothing of each pod that is there.
type Writer struct {
	seed      maphash.Seed
	manifests uint64 // in the file
	pods      map[node.Key]written
	deflate   *flate.Writer // nil after Rest
	buffer    bytes.Buffer
	record    []byte
}

// written says how far a pod is in the file.
type written struct {
	object *corev1.Pod // whose manifest this is
	number uint64
	hash   uint64 // of the last state
}

// NewWriter returns a writer for a new file, and the beginning of that.
func NewWriter(revision, at int64) (*Writer, []byte) {
	w := ResumeWriter(0)
	begin := binary.AppendUvarint([]byte{kindBegin}, version)
	begin = binary.AppendVarint(begin, revision)
	return w, frame.Append(nil, binary.AppendVarint(begin, at))
}

// ResumeWriter returns a writer for a file that has so many manifests.
func ResumeWriter(manifests uint64) *Writer {
	return &Writer{seed: maphash.MakeSeed(), manifests: manifests, pods: map[node.Key]written{}}
}

// Append adds the frames of a state, and nothing if the pod looks as it did.
func (w *Writer) Append(to []byte, s *State) ([]byte, error) {
	has, known := w.pods[s.Key]
	text, err := json.Marshal(moving{s.Pod.Deletion, s.Status})
	if err != nil {
		return to, fmt.Errorf("encode the state of pod %s: %w", s.Key, err)
	}
	same := known && has.object == s.Pod.Object
	hash := maphash.Bytes(w.seed, text)
	if same && hash == has.hash && !s.Gone {
		return to, nil
	}
	if !same {
		has = written{object: s.Pod.Object, number: w.manifests}
		if to, err = w.manifest(to, s); err != nil {
			return to, err
		}
		w.manifests++
	}
	has.hash = hash
	w.pods[s.Key] = has
	gone := byte(0)
	if s.Gone {
		gone = 1
		delete(w.pods, s.Key)
	}
	w.record = binary.AppendUvarint(append(w.record[:0], kindState), has.number)
	w.record = binary.AppendVarint(w.record, s.Revision)
	w.record = binary.AppendVarint(w.record, s.At.UnixMilli())
	w.record = append(w.record, gone)
	return w.framed(to, s, text)
}

func (w *Writer) manifest(to []byte, s *State) ([]byte, error) {
	text, err := json.Marshal(fixed{s.Pod.Object, s.Pod.Source, s.Pod.Accepted})
	if err != nil {
		return to, fmt.Errorf("encode pod %s: %w", s.Key, err)
	}
	w.record = binary.AppendUvarint(append(w.record[:0], kindManifest), w.manifests)
	w.record = appendText(w.record, s.Key.Namespace)
	w.record = appendText(w.record, s.Key.Name)
	return w.framed(to, s, text)
}

// framed adds the frame of the record with a compressed text behind it.
func (w *Writer) framed(to []byte, s *State, text []byte) ([]byte, error) {
	w.buffer.Reset()
	if w.deflate == nil {
		w.deflate, _ = flate.NewWriter(&w.buffer, flate.BestSpeed) // the level is a good one
	} else {
		w.deflate.Reset(&w.buffer)
	}
	_, _ = w.deflate.Write(text) // a buffer takes everything
	_ = w.deflate.Close()
	w.record = append(w.record, w.buffer.Bytes()...)
	if len(w.record) > frame.MaxRecord {
		return to, fmt.Errorf("pod %s takes %d bytes, more than a record may have: %w", s.Key, len(w.record), node.ErrInvalid)
	}
	return frame.Append(to, w.record), nil
}

// Rest frees the memory that is of use only while states are written.
func (w *Writer) Rest() { w.deflate, w.buffer, w.record = nil, bytes.Buffer{}, nil }

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}
