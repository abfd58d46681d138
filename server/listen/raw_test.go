package listen

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// rawClient speaks HTTP/2 frame by frame.
type rawClient struct {
	t *testing.T
	net.Conn
	*http2.Framer
	encoder *hpack.Encoder
	block   bytes.Buffer
	latest  uint32 // the stream of the latest request
}

const checkPath = "/grpc.health.v1.Health/Check"

// dialRaw connects by TLS and offers protocols. It sends the preface.
func (r *running) dialRaw(t *testing.T, protocols ...string) *rawClient {
	t.Helper()
	config := r.client.Clone()
	config.NextProtos = protocols
	conn, err := tls.Dial("tcp", r.tls, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	return speakHTTP2(t, conn)
}

func speakHTTP2(t *testing.T, conn net.Conn) *rawClient {
	t.Helper()
	c := &rawClient{t: t, Conn: conn, Framer: http2.NewFramer(conn, conn)}
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.encoder = hpack.NewEncoder(&c.block)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := c.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return c
}

// request sends the headers of a gRPC call, and of what else is given.
func (c *rawClient) request(stream uint32, path string, fields ...string) {
	c.t.Helper()
	if err := c.tryRequest(stream, path, fields...); err != nil {
		c.t.Fatal(err)
	}
}

// tryRequest is request on a connection that may have ended.
func (c *rawClient) tryRequest(stream uint32, path string, fields ...string) error {
	c.latest = stream
	c.block.Reset()
	all := append([]string{
		":method", "POST", ":scheme", "https", ":path", path, ":authority", "node", "content-type", "application/grpc", "te", "trailers",
	}, fields...)
	for i := 0; i < len(all); i += 2 {
		c.encoder.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]})
	}
	return c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.block.Bytes(), EndHeaders: true})
}

// settle reads frames until the server is silent, answers settings, and returns the streams
// that it allows in the end.
func (c *rawClient) settle() (streams uint32) {
	c.t.Helper()
	if err := c.WritePing(false, [8]byte{1}); err != nil {
		c.t.Fatal(err)
	}
	for {
		frame, err := c.ReadFrame()
		if err != nil {
			c.t.Fatal(err)
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if frame.IsAck() {
				continue
			}
			if n, ok := frame.Value(http2.SettingMaxConcurrentStreams); ok {
				streams = n
			}
			if err := c.WriteSettingsAck(); err != nil {
				c.t.Fatal(err)
			}
		case *http2.PingFrame:
			if frame.IsAck() {
				return streams
			}
		}
	}
}

// status reads frames up to the status of a call, or its end without one.
func (c *rawClient) status() string {
	c.t.Helper()
	status, err := c.awaitStatus()
	if err != nil {
		c.t.Fatal(err)
	}
	return status
}

func (c *rawClient) awaitStatus() (string, error) {
	for {
		frame, err := c.ReadFrame()
		if err != nil {
			return "", err
		}
		if headers, ok := frame.(*http2.MetaHeadersFrame); ok {
			for _, f := range headers.RegularFields() {
				if f.Name == "grpc-status" {
					return f.Value, nil
				}
			}
		}
		_, reset := frame.(*http2.RSTStreamFrame)
		ended := reset || frame.Header().Flags.Has(http2.FlagDataEndStream)
		if ended && frame.Header().StreamID == c.latest {
			return "none", nil
		}
	}
}

// emptyMessage is a whole message of gRPC.
var emptyMessage = make([]byte, 5)
