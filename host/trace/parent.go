package trace

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"
)

// Parent holds the place of a span: its trace, and the span that it is a part of.
type Parent struct {
	Trace   [16]byte
	Span    [8]byte // zero means none: the span begins the trace
	Sampled bool    // the trace is sent
}

// ParseParent reads a traceparent header of the W3C.
func ParseParent(header string) (Parent, bool) {
	var p Parent
	parts := strings.Split(header, "-")
	if len(parts) < 4 || len(parts[0]) != 2 || parts[0] == "ff" || parts[0] == "00" && len(parts) != 4 {
		return p, false
	}
	var flags [1]byte
	for i, into := range [][]byte{p.Trace[:], p.Span[:], flags[:]} {
		text := parts[i+1]
		if len(text) != 2*len(into) || strings.ToLower(text) != text {
			return Parent{}, false
		}
		if _, err := hex.Decode(into, []byte(text)); err != nil {
			return Parent{}, false
		}
	}
	p.Sampled = flags[0]&1 == 1
	return p, p.Trace != [16]byte{} && p.Span != [8]byte{}
}

// String returns the traceparent header.
func (p Parent) String() string {
	flags := "-00"
	if p.Sampled {
		flags = "-01"
	}
	return "00-" + hex.EncodeToString(p.Trace[:]) + "-" + hex.EncodeToString(p.Span[:]) + flags
}

type parentKey struct{}

// WithParent returns a context whose spans are parts of p.
func WithParent(ctx context.Context, p Parent) context.Context {
	return context.WithValue(ctx, parentKey{}, p)
}

func parentOf(ctx context.Context) Parent {
	p, _ := ctx.Value(parentKey{}).(Parent)
	return p
}

// podParent derives the numbers of a pod's trace and of its first span from the pod's UID.
func podParent(uid string) Parent {
	var p Parent
	digits := strings.ReplaceAll(uid, "-", "")
	if n, err := hex.Decode(p.Trace[:], []byte(digits[:min(len(digits), 32)])); err != nil || n != len(p.Trace) || len(digits) != 32 {
		sum := sha256.Sum256([]byte(uid))
		copy(p.Trace[:], sum[:])
	}
	copy(p.Span[:], p.Trace[8:])
	return p
}

func newTrace() (id [16]byte) {
	binary.BigEndian.PutUint64(id[:8], rand.Uint64())
	binary.BigEndian.PutUint64(id[8:], rand.Uint64()|1) // never nothing at all
	return id
}

func newSpan() (id [8]byte) {
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|1)
	return id
}
