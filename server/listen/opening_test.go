package listen

import (
	"bytes"
	"io"
	"net"
	"testing"
	"testing/iotest"

	"golang.org/x/net/http2"
)

// readConn is a connection that only reads.
type readConn struct {
	net.Conn
	io.Reader
}

func (c readConn) Read(p []byte) (int, error) { return c.Reader.Read(p) }

func TestAReplayLeavesOutOneAnswer(t *testing.T) {
	frames := func(write ...func(*http2.Framer) error) string {
		var out bytes.Buffer
		framer := http2.NewFramer(&out, nil)
		for _, w := range write {
			if err := w(framer); err != nil {
				t.Fatal(err)
			}
		}
		return out.String()
	}
	ack := (*http2.Framer).WriteSettingsAck
	settings := func(f *http2.Framer) error { return f.WriteSettings(http2.Setting{ID: 1, Val: 2}) }
	data := func(f *http2.Framer) error { return f.WriteData(1, false, bytes.Repeat([]byte("x"), 300)) }
	end := func(f *http2.Framer) error { return f.WriteData(1, true, nil) }
	cases := []struct {
		name       string
		heard      string
		acked      bool
		then, want string
	}{
		{"seen before", "heard", true, frames(ack, data), "heard" + frames(ack, data)},
		{"comes next", "heard", false, frames(ack, data, ack), "heard" + frames(data, ack)},
		{"comes later", "heard", false, frames(settings, data, end, ack, ack, data), "heard" + frames(settings, data, end, ack, data)},
		{"never comes", "heard", false, frames(data, data, end), "heard" + frames(data, data, end)},
	}
	readers := map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "with the error": iotest.DataErrReader,
	}
	for _, c := range cases {
		for how, reader := range readers {
			t.Run(c.name+", "+how, func(t *testing.T) {
				from := readConn{nil, reader(bytes.NewBufferString(c.then))}
				got, err := io.ReadAll(&replay{Conn: from, heard: []byte(c.heard), acked: c.acked})
				if err != nil || string(got) != c.want {
					t.Errorf("got %q, %v, want %q", got, err, c.want)
				}
			})
		}
	}
}

func TestAReplaySurvivesADeadlineWithinAFrame(t *testing.T) {
	ack := "\x00\x00\x00\x04\x01\x00\x00\x00\x00"
	c := &replay{Conn: readConn{nil, io.MultiReader(
		bytes.NewBufferString(ack[:4]), iotest.ErrReader(net.ErrClosed),
	)}}
	if _, err := c.Read(make([]byte, 9)); err == nil {
		t.Fatal("got no error")
	}
	c.Conn = readConn{nil, bytes.NewBufferString(ack[4:] + "rest")}
	got, err := io.ReadAll(c)
	if err != nil || string(got) != "rest" {
		t.Errorf("got %q, %v, want what follows the answer", got, err)
	}
}
