package listen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	// maxOpening bounds what a client of HTTP/2 may send up to the end of its first headers.
	maxOpening = maxHeaderBytes + 4<<10
	// frameHead is the length of a frame without its payload.
	frameHead = 9
	// smallestFrame is the smallest bound on frames that HTTP/2 allows.
	smallestFrame = 16 << 10
	// headerTable bounds what the decoder of headers remembers.
	headerTable = 4 << 10
)

// opening is the beginning of a connection of HTTP/2, up to the headers of its first request.
type opening struct {
	first *http.Request // without its body; nil if its headers are malformed or too large
	heard []byte        // all that the client has sent, but for the answer to our settings
	acked bool          // whether that answer was among it
}

// hear reads the opening of a connection, and keeps nothing but it. Clients of gRPC wait for
// settings before they send anything, so hear sends some: those of a caller that is not known.
// The server that takes the connection afterwards sends its own.
func hear(ctx context.Context, conn net.Conn) (*opening, error) {
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	var heard bytes.Buffer
	from := io.TeeReader(io.LimitReader(conn, maxOpening), &heard)
	framer := http2.NewFramer(conn, from)
	framer.SetMaxReadFrameSize(smallestFrame)
	framer.MaxHeaderListSize = maxHeaderBytes
	framer.ReadMetaHeaders = hpack.NewDecoder(headerTable, nil)
	err := framer.WriteSettings(
		http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: strangerStreams},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: maxHeaderBytes},
	)
	if err != nil {
		return nil, err
	}
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(from, preface); err != nil {
		return nil, err
	}
	if string(preface) != http2.ClientPreface {
		return nil, errors.New("the connection does not begin with the preface of HTTP/2")
	}
	o := &opening{}
	if err := o.readFrames(framer, &heard); err != nil {
		return nil, err
	}
	o.heard = heard.Bytes()
	if o.first != nil {
		o.first.RemoteAddr = conn.RemoteAddr().String()
	}
	return o, conn.SetDeadline(noDeadline)
}

// readFrames reads up to the first headers.
func (o *opening) readFrames(framer *http2.Framer, heard *bytes.Buffer) error {
	for {
		frame, err := framer.ReadFrame()
		if malformed := (http2.StreamError{}); errors.As(err, &malformed) {
			return nil // the server behind has the words for it
		}
		if err != nil {
			return err
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			if !frame.Truncated {
				o.first = requestOf(frame)
			}
			return nil
		case *http2.SettingsFrame:
			if frame.IsAck() {
				o.acked = true
				heard.Truncate(heard.Len() - frameHead)
			}
		case *http2.WindowUpdateFrame, *http2.PingFrame, *http2.PriorityFrame, *http2.UnknownFrame:
		default:
			return fmt.Errorf("a frame of type %s comes before the first headers", frame.Header().Type)
		}
	}
}

// requestOf returns what headers say, without a body.
func requestOf(frame *http2.MetaHeadersFrame) *http.Request {
	r := &http.Request{
		Method: frame.PseudoValue("method"), Host: frame.PseudoValue("authority"),
		ProtoMajor: 2, Header: http.Header{}, Body: http.NoBody,
	}
	for _, field := range frame.RegularFields() {
		r.Header.Add(field.Name, field.Value)
	}
	if r.Host == "" {
		r.Host = r.Header.Get("Host")
	}
	return r
}

// replay is a connection whose client is heard again from the beginning. It leaves out the
// answer to the settings of hear, of which the server behind knows nothing.
type replay struct {
	net.Conn
	heard []byte // to be read first
	acked bool   // the answer has been seen
	head  [frameHead]byte
	got   int // bytes of the next frame's head
	left  int // bytes of the present frame's payload
}

// NetConn returns the connection below.
func (c *replay) NetConn() net.Conn { return c.Conn }

func (c *replay) Read(p []byte) (int, error) {
	if len(c.heard) == 0 && !c.acked {
		if err := c.readHead(); err != nil {
			return 0, err
		}
	}
	if len(c.heard) > 0 {
		n := copy(p, c.heard)
		if c.heard = c.heard[n:]; len(c.heard) == 0 {
			c.heard = nil // the buffer is free
		}
		return n, nil
	}
	if c.acked {
		return c.Conn.Read(p)
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// readHead reads the head of a frame where one is due. It may fail in between, by a deadline,
// and be called again.
func (c *replay) readHead() error {
	if c.left > 0 {
		return nil
	}
	for c.got < frameHead {
		n, err := c.Conn.Read(c.head[c.got:])
		if c.got += n; err != nil && c.got < frameHead {
			return err
		}
	}
	c.got = 0
	size := int(c.head[0])<<16 | int(c.head[1])<<8 | int(c.head[2])
	isAck := http2.FrameType(c.head[3]) == http2.FrameSettings && http2.Flags(c.head[4]).Has(http2.FlagSettingsAck)
	if isAck && size == 0 {
		c.acked = true
		return nil
	}
	c.left = size
	c.heard = append(c.heard, c.head[:]...)
	return nil
}
