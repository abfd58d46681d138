package stream

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
)

// watched is a response that tells when the client of the connection taken over is
// gone. The server looks no longer, and whoever speaks SPDY on it tells nobody.
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
	early, _ := buffered.Peek(buffered.Reader.Buffered()) // it is there
	out, in := io.Pipe()
	go func() {
		_, err := io.Copy(in, io.MultiReader(bytes.NewReader(early), conn))
		conn.Close() // first, so that who is gone is told no end
		w.gone()
		in.CloseWithError(err)
	}()
	return piped{conn, out}, bufio.NewReadWriter(bufio.NewReader(out), buffered.Writer), nil
}

// piped is a connection with nobody left to read from it once it is closed.
type piped struct {
	net.Conn
	out *io.PipeReader
}

func (p piped) Close() error {
	p.out.Close()
	return p.Conn.Close()
}
