package stream

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
)

// watched is a response that reports when the client of a hijacked connection is gone. Neither
// net/http nor the SPDY library does.
type watched struct {
	http.ResponseWriter
	gone func()
}

var _ http.Hijacker = watched{}

// Hijack passes the client's bytes through a pipe, since the SPDY library stops reading once
// one side ends the connection.
func (w watched) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, _ := buffered.Peek(buffered.Reader.Buffered()) // these bytes are buffered: Peek does not block
	out, in := io.Pipe()
	go func() {
		_, err := io.Copy(in, io.MultiReader(bytes.NewReader(early), conn))
		conn.Close() // first: nothing is sent to a client that is gone
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
