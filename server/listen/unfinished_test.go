package listen

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// sent returns what a client sends, frame by frame, after the preface.
func sent(t *testing.T, frames ...func(*http2.Framer) error) []byte {
	t.Helper()
	var wire bytes.Buffer
	wire.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&wire, nil)
	framer.AllowIllegalWrites = true
	for _, write := range frames {
		if err := write(framer); err != nil {
			t.Fatal(err)
		}
	}
	return wire.Bytes()
}

func data(stream uint32, end bool, payload []byte) func(*http2.Framer) error {
	return func(f *http2.Framer) error { return f.WriteData(stream, end, payload) }
}

// of returns the beginning of a message that says it has size bytes.
func of(size int, there int) []byte {
	head := binary.BigEndian.AppendUint32([]byte{0}, uint32(size))
	return append(head, make([]byte, there)...)
}

func TestUnfinishedMessagesAreCounted(t *testing.T) {
	for _, c := range []struct {
		name   string
		frames []func(*http2.Framer) error
		want   int64
	}{
		{"a whole message", []func(*http2.Framer) error{data(1, false, of(10, 10))}, 0},
		{"an empty message", []func(*http2.Framer) error{data(1, false, of(0, 0))}, 0},
		{"all but its last byte", []func(*http2.Framer) error{data(1, false, of(10, 9))}, perStream + 14},
		{"a part of its head", []func(*http2.Framer) error{data(1, false, of(10, 0)[:3])}, perStream + 3},
		{"one in two frames", []func(*http2.Framer) error{data(1, false, of(10, 4)), data(1, false, make([]byte, 6))}, 0},
		{"two in one frame, and a third that has begun", []func(*http2.Framer) error{data(1, false, slices.Concat(of(3, 3), of(0, 0), of(9, 1)))}, perStream + 6},
		{"two streams", []func(*http2.Framer) error{data(1, false, of(10, 9)), data(3, false, of(10, 1))}, 2*perStream + 20},
		{"a stream that its client resets", []func(*http2.Framer) error{data(1, false, of(10, 9)), func(f *http2.Framer) error { return f.WriteRSTStream(1, http2.ErrCodeCancel) }}, 0},
		{"a stream that its client ends too early", []func(*http2.Framer) error{data(1, true, of(10, 9))}, 0},
		{"padding is no message", []func(*http2.Framer) error{func(f *http2.Framer) error { return f.WriteDataPadded(1, false, of(10, 10), make([]byte, 200)) }}, 0},
		{"padding within a message", []func(*http2.Framer) error{func(f *http2.Framer) error { return f.WriteDataPadded(1, false, of(10, 4), make([]byte, 200)) }}, perStream + 9},
		{"padding alone", []func(*http2.Framer) error{func(f *http2.Framer) error { return f.WriteDataPadded(1, false, nil, make([]byte, 200)) }}, 0},
		{"other frames", []func(*http2.Framer) error{
			func(f *http2.Framer) error { return f.WriteSettings() },
			func(f *http2.Framer) error {
				return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: make([]byte, 300), EndHeaders: true, PadLength: 9})
			},
			func(f *http2.Framer) error { return f.WritePing(true, [8]byte{8}) },
			func(f *http2.Framer) error { return f.WriteWindowUpdate(0, 1) },
			data(1, false, nil),
			data(1, false, of(10, 1)),
		}, perStream + 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			wire := sent(t, c.frames...)
			for _, size := range []int{1, 2, 7, 24, 33, len(wire)} {
				f := frames{preface: len(http2.ClientPreface), streams: map[uint32]*message{}}
				for part := range slices.Chunk(wire, size) {
					f.pass(part)
				}
				if f.held != c.want || (c.want == 0) != (len(f.streams) == 0) {
					t.Errorf("in parts of %d: %d bytes on %d streams, want %d", size, f.held, len(f.streams), c.want)
				}
			}
		})
	}
}

func TestACallerHoldsSoManyUnfinishedMessages(t *testing.T) {
	for name, protocols := range map[string][]string{"gRPC": {"h2"}, "net/http": {"h2", "http/1.1"}} {
		t.Run(name, func(t *testing.T) {
			r := start(t, http.HandlerFunc(echo), 0)
			attacker := r.dialRaw(t, protocols...)
			ended := make(chan struct{})
			windows := newWindows()
			go func() {
				defer close(ended)
				windows.read(attacker)
			}()
			const size = 4 << 20
			held := func() int64 {
				r.front.unfinished.mu.Lock()
				defer r.front.unfinished.mu.Unlock()
				return r.front.unfinished.held["friend"]
			}
			most := int64(0)
			for stream := uint32(1); stream < 100 && windows.open(); stream += 2 {
				windows.begin(stream)
				if attacker.tryRequest(stream, checkPath, "authorization", goodToken) != nil {
					break
				}
				for left := of(size, size-1); len(left) > 0 && windows.open(); {
					n := windows.take(stream, len(left))
					if n == 0 || attacker.WriteData(stream, false, left[:n]) != nil {
						break
					}
					left, most = left[n:], max(most, held())
				}
			}
			attacker.Close()
			<-ended
			if most < mostUnfinished/2 || most > mostUnfinished {
				t.Errorf("it holds %d MiB, want nearly %d", most>>20, mostUnfinished>>20)
			}
			other := r.dialRaw(t, protocols...)
			other.request(1, checkPath, "authorization", goodToken)
			other.WriteData(1, true, emptyMessage)
			if got := other.status(); got != "0" {
				t.Errorf("afterwards the same caller gets status %s", got)
			}
			eventually(t, "an end of what it has held", func() bool { return held() == 0 })
		})
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("there is not: %s", what)
		}
	}
}

func TestABodyEndsAfterItsOneMessage(t *testing.T) {
	for name, c := range map[string]struct {
		body []byte
		want int
		err  error
	}{
		"one message":              {of(10, 10), 15, nil},
		"two messages":             {slices.Concat(of(10, 10), of(3, 3)), 15, nil},
		"an empty one and another": {slices.Concat(of(0, 0), of(3, 3)), 5, nil},
		"half a message":           {of(10, 5), 10, nil},
		"half a head":              {of(10, 0)[:2], 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := io.ReadAll(OneMessage(io.NopCloser(bytes.NewReader(c.body))))
			if len(got) != c.want || !errors.Is(err, c.err) {
				t.Errorf("got %d bytes, %v; want %d", len(got), err, c.want)
			}
		})
	}
}
