package listen

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"

	"golang.org/x/net/http2"
)

// mostUnfinished bounds the bytes of messages that one known caller has begun and not finished, on all its connections.
// A client of ours finishes one before it begins the next; eight of the largest may be on their way side by side.
const mostUnfinished = 32 << 20

// perStream counts for what a stream with an unfinished message costs beside its bytes.
const perStream = 256

var errUnfinished = errors.New("the caller has begun too many messages without finishing them")

// unfinished counts, for each known caller, the bytes of messages that are not complete. grpc-go keeps them, and has
// a call authorized only once its message is there.
type unfinished struct {
	mu   sync.Mutex
	held map[string]int64
}

// add changes what a caller holds, and reports whether that is within bounds.
func (u *unfinished) add(caller string, bytes int64) bool {
	if bytes == 0 {
		return true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.held == nil {
		u.held = map[string]int64{}
	}
	if u.held[caller] += bytes; u.held[caller] <= 0 {
		delete(u.held, caller)
	}
	return u.held[caller] <= mostUnfinished
}

// message follows the bytes of gRPC messages, one after the other: five bytes of head, the last four of which hold the
// length, and the payload.
type message struct {
	head  [5]byte
	known int   // bytes of the head
	left  int64 // bytes of the payload that are to come
	held  int64 // bytes of the message that is not complete
	ended int   // how many are complete
}

// pass follows some bytes.
func (m *message) pass(p []byte) {
	for len(p) > 0 {
		if m.left == 0 {
			n := copy(m.head[m.known:], p)
			m.known, m.held, p = m.known+n, m.held+int64(n), p[n:]
			if m.known < len(m.head) {
				return
			}
			m.left = int64(binary.BigEndian.Uint32(m.head[1:]))
		}
		n := min(m.left, int64(len(p)))
		m.left, m.held, p = m.left-n, m.held+n, p[n:]
		if m.left == 0 {
			*m = message{ended: m.ended + 1}
		}
	}
}

// metered is the connection of a known caller of gRPC. It reads along, and ends once its caller holds too much.
type metered struct {
	net.Conn
	caller string
	of     *unfinished

	mu     sync.Mutex // Close may come while a Read is under way
	frames frames
	held   int64
	over   bool
}

func newMetered(c net.Conn, caller string, of *unfinished) *metered {
	return &metered{Conn: c, caller: caller, of: of, frames: frames{preface: len(http2.ClientPreface), streams: map[uint32]*message{}}}
}

// NetConn returns the connection below.
func (m *metered) NetConn() net.Conn { return m.Conn }

// Read reads from the connection.
func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over {
		return 0, errUnfinished
	}
	m.frames.pass(p[:n])
	before := m.held
	m.held = m.frames.held
	if !m.of.add(m.caller, m.held-before) {
		m.free()
		return 0, errUnfinished
	}
	return n, err
}

// Close closes the connection, and gives back what its streams held.
func (m *metered) Close() error {
	err := m.Conn.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free()
	return err
}

func (m *metered) free() {
	m.of.add(m.caller, -m.held)
	m.held, m.over, m.frames.streams = 0, true, nil
}

// frames follows what a client of HTTP/2 sends, and what of it belongs to messages that are not complete.
type frames struct {
	preface int // bytes of it that are to come
	head    [frameHead]byte
	known   int // bytes of a frame's head
	left    int // bytes of the frame's payload that are to come
	padding int // those of them that are no data; -1 before the byte that says it
	streams map[uint32]*message
	held    int64
}

// pass follows some bytes.
func (f *frames) pass(p []byte) {
	skip := min(f.preface, len(p))
	f.preface, p = f.preface-skip, p[skip:]
	for len(p) > 0 {
		if f.known < frameHead {
			n := copy(f.head[f.known:], p)
			if f.known, p = f.known+n, p[n:]; f.known < frameHead {
				return
			}
			f.left, f.padding = int(f.head[0])<<16|int(f.head[1])<<8|int(f.head[2]), 0
			if f.flag(http2.FlagDataPadded) {
				f.padding = -1
			}
		}
		n := min(f.left, len(p))
		if http2.FrameType(f.head[3]) == http2.FrameData {
			f.data(p[:n])
		}
		if f.left, p = f.left-n, p[n:]; f.left == 0 {
			f.end()
		}
	}
}

func (f *frames) flag(flag http2.Flags) bool {
	return http2.FrameType(f.head[3]) == http2.FrameData && http2.Flags(f.head[4]).Has(flag)
}

func (f *frames) stream() uint32 { return binary.BigEndian.Uint32(f.head[5:]) &^ (1 << 31) }

// data follows bytes of a frame with data.
func (f *frames) data(p []byte) {
	left := f.left
	if f.padding < 0 && len(p) > 0 {
		f.padding, p, left = int(p[0]), p[1:], left-1
	}
	p = p[:max(0, min(len(p), left-f.padding))]
	if len(p) == 0 {
		return
	}
	id := f.stream()
	m := f.streams[id]
	if m == nil {
		m = &message{}
		f.streams[id] = m
		f.held += perStream
	}
	before := m.held
	m.pass(p)
	f.held += m.held - before
	if m.held == 0 {
		f.forget(id)
	}
}

// end is the end of a frame. A stream that has ended holds nothing.
func (f *frames) end() {
	f.known = 0
	if http2.FrameType(f.head[3]) == http2.FrameRSTStream || f.flag(http2.FlagDataEndStream) {
		f.forget(f.stream())
	}
}

func (f *frames) forget(id uint32) {
	if m := f.streams[id]; m != nil {
		f.held -= m.held + perStream
		delete(f.streams, id)
	}
}

// meteredBody is the body of a call of gRPC that comes by net/http. It ends once its caller holds too much.
type meteredBody struct {
	io.ReadCloser
	caller string
	of     *unfinished

	mu      sync.Mutex // the call may end while a Read is under way
	message message
	over    bool
}

// Read reads from the body.
func (b *meteredBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return 0, errUnfinished
	}
	before := b.message.held
	b.message.pass(p[:n])
	if !b.of.add(b.caller, b.message.held-before) {
		b.free()
		return 0, errUnfinished
	}
	return n, err
}

// finish gives back what the body held. The call is over.
func (b *meteredBody) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free()
}

func (b *meteredBody) free() {
	b.of.add(b.caller, -b.message.held)
	b.message, b.over = message{}, true
}

// OneMessage returns the body of a call that takes one message, which ends after that. net/http would keep the rest for
// as long as the call lasts.
func OneMessage(body io.ReadCloser) io.ReadCloser { return &oneMessage{ReadCloser: body} }

type oneMessage struct {
	io.ReadCloser
	message message
}

func (o *oneMessage) Read(p []byte) (int, error) {
	if o.message.ended > 0 {
		return 0, io.EOF
	}
	n, err := o.ReadCloser.Read(p[:min(len(p), o.message.wants())])
	o.message.pass(p[:n])
	return n, err
}

// wants returns how many bytes of the message are certainly to come; a head that is not there counts alone.
func (m *message) wants() int {
	if m.left > 0 {
		return int(m.left)
	}
	return len(m.head) - m.known
}
