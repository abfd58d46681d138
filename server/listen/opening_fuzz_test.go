package listen

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"runtime"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// spoken is a connection on which a client has said all that it ever says. It counts what is read.
type spoken struct {
	net.Conn
	from io.Reader
	read int
}

func (s *spoken) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	s.read += n
	return n, err
}

func (s *spoken) Write(p []byte) (int, error) { return len(p), nil }
func (s *spoken) SetDeadline(time.Time) error { return nil }
func (s *spoken) RemoteAddr() net.Addr        { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }
func (s *spoken) allocated() (bytes uint64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// maxOpeningMemory bounds what the opening of a stranger may cost.
const maxOpeningMemory = 2 << 20

// FuzzOpening holds that the front asks about the same request that the server behind then hears first, that this
// server hears everything but one answer to settings, and that the opening of a connection costs little to read.
func FuzzOpening(f *testing.F) {
	for _, frames := range openings(f) {
		f.Add(frames)
	}
	f.Fuzz(func(t *testing.T, frames []byte) {
		said := append([]byte(http2.ClientPreface), frames...)
		conn := &spoken{from: bytes.NewReader(said)}
		before := conn.allocated()
		o, err := hear(context.Background(), conn)
		if cost := conn.allocated() - before; cost > maxOpeningMemory {
			t.Errorf("hearing %d bytes took %d bytes of memory, want at most %d", len(said), cost, maxOpeningMemory)
		}
		if conn.read > maxOpening {
			t.Errorf("read %d bytes before the first headers were known, want at most %d", conn.read, maxOpening)
		}
		if err != nil {
			return
		}
		heard, err := io.ReadAll(&replay{Conn: conn, heard: bytes.Clone(o.heard), acked: o.acked})
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("hear again: %v", err)
		}
		want := withoutAnswer(said)
		// The head of a frame that is cut short may be missing.
		if !bytes.HasPrefix(want, heard) || len(want)-len(heard) >= frameHead {
			t.Fatalf("the server behind hears %q, want %q", heard, want)
		}
		if first := firstHeaders(heard); o.first != nil && !reflect.DeepEqual(o.first.Header, first) {
			t.Errorf("the front asks about headers %q, the server behind hears %q", o.first.Header, first)
		}
	})
}

// withoutAnswer leaves out the first answer to settings.
func withoutAnswer(said []byte) []byte {
	for at := len(http2.ClientPreface); len(said)-at >= frameHead; {
		size := int(binary.BigEndian.Uint32(said[at:]) >> 8)
		if size == 0 && said[at+3] == byte(http2.FrameSettings) && said[at+4]&byte(http2.FlagSettingsAck) != 0 {
			return append(bytes.Clone(said[:at]), said[at+frameHead:]...)
		}
		at += frameHead + size
	}
	return said
}

// firstHeaders reads the first headers as a server with wide limits does.
func firstHeaders(heard []byte) http.Header {
	framer := http2.NewFramer(io.Discard, bytes.NewReader(heard[len(http2.ClientPreface):]))
	framer.ReadMetaHeaders = hpack.NewDecoder(headerTable, nil)
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return nil
		}
		if frame, ok := frame.(*http2.MetaHeadersFrame); ok {
			header := http.Header{}
			for _, field := range frame.RegularFields() {
				header.Add(field.Name, field.Value)
			}
			return header
		}
	}
}

// openings are beginnings of connections, without the preface.
func openings(tb testing.TB) [][]byte {
	write := func(steps ...func(*http2.Framer) error) []byte {
		var out bytes.Buffer
		framer := http2.NewFramer(&out, nil)
		framer.AllowIllegalWrites = true
		for _, step := range steps {
			if err := step(framer); err != nil {
				tb.Fatal(err)
			}
		}
		return out.Bytes()
	}
	block := func(fields ...string) []byte {
		var out bytes.Buffer
		encoder := hpack.NewEncoder(&out)
		for i := 0; i < len(fields); i += 2 {
			if err := encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
				tb.Fatal(err)
			}
		}
		return out.Bytes()
	}
	call := block(":method", "POST", ":scheme", "https", ":path", "/a", ":authority", "node", "authorization", "Bearer x")
	headers := func(end bool, block []byte) func(*http2.Framer) error {
		return func(f *http2.Framer) error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block, EndHeaders: end, PadLength: 3})
		}
	}
	more := func(end bool, block []byte) func(*http2.Framer) error {
		return func(f *http2.Framer) error { return f.WriteContinuation(1, end, block) }
	}
	settings := func(f *http2.Framer) error {
		return f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 1 << 20})
	}
	data := func(f *http2.Framer) error { return f.WriteData(1, true, []byte("body")) }
	ack := (*http2.Framer).WriteSettingsAck
	ping := func(f *http2.Framer) error { return f.WritePing(false, [8]byte{1}) }
	window := func(f *http2.Framer) error { return f.WriteWindowUpdate(0, 1<<20) }
	indexed := append(block("a", "b"), bytes.Repeat([]byte{0xbe}, 12<<10)...) // one byte for each field
	return [][]byte{
		{},
		write(settings, headers(true, call), data),
		write(settings, ack, window, ping, headers(true, call), data, ack),
		write(settings, headers(false, call[:5]), more(false, call[5:10]), more(true, call[10:]), ack),
		write(settings, headers(true, block(":method", "GET", "Upper", "case")), headers(true, call)),
		write(settings, headers(true, indexed)),
		write(settings, headers(true, block(":method", "GET", "cookie", string(bytes.Repeat([]byte("x"), 17<<10))))),
		write(data, headers(true, call)),
		[]byte("\x00\x00\x01\x04\x01\x00\x00\x00\x00x"),
		[]byte("\xff\xff\xff\x01\x04\x00\x00\x00\x01"),
	}
}
