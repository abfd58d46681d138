package inproc

import (
	"errors"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// transport holds the metadata that one call returns. grpc.SetHeader and the like find it in
// the handler's context.
type transport struct {
	method string
	ready  chan struct{} // closed once the header can be read

	mu      sync.Mutex
	sent    bool
	header  metadata.MD
	trailer metadata.MD
}

var _ grpc.ServerTransportStream = (*transport)(nil)

func newTransport(method string) *transport {
	return &transport{method: method, ready: make(chan struct{})}
}

var errHeaderSent = errors.New("the header is sent already")

func (t *transport) Method() string { return t.method }

func (t *transport) SetHeader(md metadata.MD) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sent {
		return errHeaderSent
	}
	t.header = metadata.Join(t.header, md)
	return nil
}

func (t *transport) SendHeader(md metadata.MD) error {
	if err := t.SetHeader(md); err != nil {
		return err
	}
	t.flush()
	return nil
}

func (t *transport) SetTrailer(md metadata.MD) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trailer = metadata.Join(t.trailer, md)
	return nil
}

// flush sends the header, unless it was sent.
func (t *transport) flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.sent {
		t.sent = true
		close(t.ready)
	}
}

func (t *transport) metadata() (header, trailer metadata.MD) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.header.Copy(), t.trailer.Copy()
}
