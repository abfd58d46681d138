package stream

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"nodal/node"
)

const (
	// policyViolation is the close code of a WebSocket whose caller may no longer have it.
	policyViolation = 1008
	// maxReason bounds the reason of a close: a control frame holds 125 bytes, two of them the code.
	maxReason = 123
	// lastWords bounds the time that a client has to take the reason and to answer it.
	lastWords = time.Second
)

// revoked returns why the caller of a request may no longer have what it has opened, or nil. It is the cause with which
// package auth ends the request.
func revoked(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, node.ErrDenied) {
		return cause
	}
	return nil
}

// closing is a response whose hijacked connection is a WebSocket that can be closed with a reason.
type closing struct {
	http.ResponseWriter
	frames *frames
}

var _ http.Hijacker = (*closing)(nil)

// Hijack takes the connection over. A frame that the library writes passes frames.
func (c *closing) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(c.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	c.frames = &frames{Conn: conn}
	// The library upgrades through the buffer, and goes on through it.
	return c.frames, bufio.NewReadWriter(buffered.Reader, bufio.NewWriter(c.frames)), nil
}

// frames is a connection on which a server sends WebSocket frames after the answer to the upgrade. It knows where one
// ends: the last frame must not stand inside of another.
type frames struct {
	net.Conn

	mu       sync.Mutex
	upgraded bool   // the answer has been sent
	head     []byte // of a frame that is not complete
	left     uint64 // bytes of the present frame
	last     []byte // the frame to end with, once the present one is complete
	instead  []byte // takes the place of the library's own close
	over     bool
}

// Write sends bytes of frames. After the last frame it sends nothing.
func (f *frames) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return 0, net.ErrClosed
	}
	const opcode, end = 0x0f, 8
	if f.instead != nil && f.between() && len(p) > 0 && p[0]&opcode == end {
		f.over = true
		_, err := f.Conn.Write(f.instead)
		return len(p), err
	}
	n, err := f.Conn.Write(p)
	f.pass(p[:n])
	if err == nil && f.last != nil && f.between() {
		f.over = true
		_, _ = f.Conn.Write(f.last)
	}
	return n, err
}

// because has the library's own close say why, if it comes to one.
func (f *frames) because(reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.instead = closeFrame(reason)
}

func closeFrame(reason string) []byte {
	reason = reason[:min(len(reason), maxReason)]
	frame := binary.BigEndian.AppendUint16([]byte{0x88, byte(2 + len(reason))}, policyViolation)
	return append(frame, reason...)
}

// closeWith ends the connection with a frame that says why.
func (f *frames) closeWith(reason string) {
	f.SetWriteDeadline(time.Now().Add(lastWords)) // first: a client that reads nothing may hold a write
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = closeFrame(reason)
	if !f.over && f.between() {
		f.over = true
		_, _ = f.Conn.Write(f.last)
	}
}

func (f *frames) between() bool { return f.upgraded && f.left == 0 && len(f.head) == 0 }

// pass follows what was sent. A server's frames have no mask.
func (f *frames) pass(p []byte) {
	if !f.upgraded { // the library sends the whole answer before the first frame
		f.upgraded = true
		return
	}
	for len(p) > 0 {
		if f.left > 0 {
			n := min(f.left, uint64(len(p)))
			f.left, p = f.left-n, p[n:]
			continue
		}
		f.head, p = append(f.head, p[0]), p[1:]
		if size, whole := payload(f.head); whole {
			f.head, f.left = f.head[:0], size
		}
	}
}

// payload returns the length of a frame's payload, once its head is complete.
func payload(head []byte) (size uint64, whole bool) {
	if len(head) < 2 {
		return 0, false
	}
	switch short := head[1] & 0x7f; {
	case short < 126:
		return uint64(short), true
	case short == 126 && len(head) == 4:
		return uint64(binary.BigEndian.Uint16(head[2:])), true
	case short == 127 && len(head) == 10:
		return binary.BigEndian.Uint64(head[2:]), true
	}
	return 0, false
}
