package hostile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const frameBound = 16 << 10

// A place is the path and the content type of a request.
type place struct{ path, content string }

var (
	gRPC  = place{"/node.v1.ManifestsService/Apply", "application/grpc"}
	rest  = place{"/v1/manifests", "application/json"}
	read  = place{"/node.v1.PodsService/GetPod", "application/grpc"}
	watch = place{"/node.v1.PodsService/WatchPods", "application/grpc"}
)

// client speaks HTTP/2 and keeps to its rules, flow control included: a server that can be
// exhausted by the rules is the one that matters.
type client struct {
	*http2.Framer
	write sync.Mutex

	mu      sync.Mutex
	changed *sync.Cond
	initial int64            // window of a new stream
	whole   int64            // window of the connection
	streams map[uint32]int64 // windows of streams that the server has not ended
	over    error
}

// greet sends the preface, and reads what comes until the connection ends.
func greet(ctx context.Context, conn net.Conn, settings ...http2.Setting) (*client, error) {
	c := &client{Framer: http2.NewFramer(conn, conn), initial: 65535, whole: 65535, streams: map[uint32]int64{}}
	c.changed = sync.NewCond(&c.mu)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		return nil, err
	}
	if err := c.WriteSettings(settings...); err != nil {
		return nil, err
	}
	go c.listen()
	context.AfterFunc(ctx, func() { c.end(ctx.Err()) })
	return c, nil
}

func (c *client) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = errors.Join(c.over, err)
	c.changed.Broadcast()
}

func (c *client) listen() {
	for {
		frame, err := c.ReadFrame()
		if err != nil {
			c.end(err)
			return
		}
		c.hear(frame)
	}
}

func (c *client) hear(frame http2.Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.changed.Broadcast()
	id := frame.Header().StreamID
	switch frame := frame.(type) {
	case *http2.SettingsFrame:
		if frame.IsAck() {
			return
		}
		if n, ok := frame.Value(http2.SettingInitialWindowSize); ok {
			for stream := range c.streams {
				c.streams[stream] += int64(n) - c.initial
			}
			c.initial = int64(n)
		}
		go c.answer()
	case *http2.WindowUpdateFrame:
		if id == 0 {
			c.whole += int64(frame.Increment)
		} else if _, open := c.streams[id]; open {
			c.streams[id] += int64(frame.Increment)
		}
	case *http2.RSTStreamFrame:
		delete(c.streams, id)
	}
}

// answer acknowledges settings.
func (c *client) answer() {
	c.write.Lock()
	defer c.write.Unlock()
	_ = c.WriteSettingsAck() // the reader learns of an end as well
}

// request sends the headers of a call, followed by fields that are encoded already.
func (c *client) request(stream uint32, to place, more []byte) error {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	encoder.SetMaxDynamicTableSizeLimit(0) // so that each block stands alone
	for _, f := range []hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "https"}, {Name: ":path", Value: to.path},
		{Name: ":authority", Value: "node"}, {Name: "content-type", Value: to.content}, {Name: "te", Value: "trailers"},
	} {
		if err := encoder.WriteField(f); err != nil {
			return err
		}
	}
	block.Write(more)
	c.mu.Lock()
	c.streams[stream] = c.initial
	c.mu.Unlock()
	c.write.Lock()
	defer c.write.Unlock()
	left := block.Bytes()
	part := left[:min(frameBound, len(left))]
	left = left[len(part):]
	err := c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: part, EndHeaders: len(left) == 0})
	for err == nil && len(left) > 0 {
		part = left[:min(frameBound, len(left))]
		left = left[len(part):]
		err = c.WriteContinuation(stream, len(left) == 0, part)
	}
	return err
}

// send sends a piece of a body as fast as the server allows. It stops where the server has
// ended the stream.
func (c *client) send(stream uint32, body []byte) error {
	for len(body) > 0 {
		n, err := c.reserve(stream, len(body))
		if n == 0 || err != nil {
			return err
		}
		c.write.Lock()
		err = c.WriteData(stream, false, body[:n])
		c.write.Unlock()
		if err != nil {
			return err
		}
		body = body[n:]
	}
	return nil
}

// reserve waits for room in both windows. It returns 0 for a stream that has ended.
func (c *client) reserve(stream uint32, want int) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		room, open := c.streams[stream]
		switch {
		case c.over != nil:
			return 0, c.over
		case !open:
			return 0, nil
		case room > 0 && c.whole > 0:
			n := min(int64(want), room, c.whole, frameBound)
			c.streams[stream] -= n
			c.whole -= n
			return int(n), nil
		}
		c.changed.Wait()
	}
}
