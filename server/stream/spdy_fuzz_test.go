//go:build !race

package stream

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	framer "github.com/moby/spdystream/spdy"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
)

// spdyFrames are frames of SPDY as a client sends them: a stream with headers and data.
func spdyFrames(tb testing.TB, kind, port, name, value string, data []byte) []byte {
	var out bytes.Buffer
	to, err := framer.NewFramer(&out, nil)
	if err != nil {
		tb.Fatal(err)
	}
	for i, k := range []string{"error", kind} {
		id := framer.StreamId(2*i + 1)
		headers := http.Header{
			http.CanonicalHeaderKey("streamType"): {k}, http.CanonicalHeaderKey("port"): {port},
			http.CanonicalHeaderKey("requestID"): {"0"},
		}
		headers[name] = append(headers[name], value)
		if to.WriteFrame(&framer.SynStreamFrame{StreamId: id, Headers: headers}) != nil {
			return nil // some names have no encoding
		}
		if err := to.WriteFrame(&framer.DataFrame{StreamId: id, Data: data}); err != nil {
			tb.Fatal(err)
		}
	}
	return out.Bytes()
}

// FuzzSPDY holds that forwarded ports end with their client, get no more than it sent, and are ports. It cannot hold
// that no goroutine is left: moby/spdystream leaves one if a client resets a stream, or goes, before it is answered. It also
// sets that the stream was answered without its lock, which the race detector finds.
func FuzzSPDY(f *testing.F) {
	f.Add("data", "8080", "a", "b", []byte("hello"), []byte("\x80\x03\x00\x03\x00\x00\x00\x08\x00\x00\x00\x01\x00\x00\x00\x05"))
	f.Add("data", "1", "", "", []byte(""), []byte("\x00\x00\x00\x01\x00\xff\xff\xff"))
	f.Add("data", "-1", "", "", []byte(""), []byte("\x80\x03\x00\x01\x00\xff\xff\xff"))
	f.Add("error", "0", "streamtype", "x", []byte("{"), []byte("\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x01"))
	f.Add("", "99999999999", "x", "\x00", []byte("d"), []byte("\x00\x00\x00\x03\x01\x00\x00\x00\x00\x00\x03\x00\x00\x00"))
	f.Add("data", "65536", "x", "y", []byte("d"), []byte("\x80\x03\x00\x07\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add("data", "1", "x", "y", []byte("d"), []byte("\x80\x03\x00\x04\x00\x00\x00\x0c\x00\x00\x00\x01\x01\x00\x00\x07\x7f\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, kind, port, name, value string, data, rest []byte) {
		if len(data)+len(rest)+len(name)+len(value) > 32<<10 {
			return
		}
		said := append(spdyFrames(t, kind, port, name, value, data), rest...)
		var got, wrong atomic.Int64
		within(t, said, func() {
			converse(func(w http.ResponseWriter, r *http.Request) {
				Forward(w, r, time.Hour, func(_ context.Context, port int32, client io.ReadWriter) error {
					if port < 1 || port > 65535 {
						wrong.Store(int64(port))
					}
					n, err := io.Copy(io.Discard, client)
					got.Add(n)
					return err
				})
			}, headOf("SPDY/3.1", portforward.ProtocolV1Name), said)
		})
		if got.Load() > int64(len(said)) {
			t.Errorf("got %d bytes of %d", got.Load(), len(said))
		}
		if port := wrong.Load(); port != 0 {
			t.Errorf("a client reaches port %d", port)
		}
	})
}
