package stream

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
)

// watched is a response that reports when the client of the hijacked connection is gone. The
// server no longer looks, and the SPDY library does not say.
type watched struct {
	http.ResponseWriter
	gone func()
}

var _ http.Hijacker = watched{}

// Hijack has what the client sends pass through here, since SPDY is read only until
// one side says goodbye.
func (w watched) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, _ := buffered.Peek(buffered.Reader.Buffered()) // these bytes are buffered: Peek does not block
	out, in := io.Pipe()
	go func() {
		_, err := io.Copy(in, io.MultiReader(bytes.NewReader(early), conn))
		conn.Close() // first: a client that is gone gets no end
		w.gone()
		in.CloseWithError(err)
	}()
	return piped{conn, out}, bufio.NewReadWriter(bufio.NewReader(out), buffered.Writer), nil
}

// piped is a connection that discards what arrives after it was closed.
type piped struct {
	net.Conn
	out *io.PipeReader
}

func (p piped) Close() error {
	p.out.Close()
	return p.Conn.Close()
}
