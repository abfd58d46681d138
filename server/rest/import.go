package rest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	nodev1 "nodal/api/gen/node/v1"
)

// importBody imports the tarball in the body of a request, and reports progress meanwhile. The
// body has no limit, as it is not kept here. The import itself watches the disk.
type importBody struct{ client nodev1.ImagesServiceClient }

// importChunk bounds the part of a body that goes into one message.
const importChunk = 256 << 10

func (h importBody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	// Without it, HTTP/1.1 reads the whole body before it answers. A connection that cannot
	// do both at once answers at the end.
	_ = control.EnableFullDuplex()
	sent := make(chan struct{})
	close(sent)
	body := &ending{Reader: r.Body}
	defer func() {
		// The deadline ends a read of the body that is still pending, before net/http takes the
		// connection back. After the end of the body net/http itself reads. A deadline would
		// then cancel every later request of the connection.
		if !body.ended.Load() {
			_ = control.SetReadDeadline(time.Now())
		}
		<-sent
	}()
	stream{open: func(ctx context.Context, r *http.Request) (recv, error) {
		first := &nodev1.ImportImagesRequest{}
		if err := fillFrom(r, first); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithCancel(ctx)
		call, err := h.client.ImportImages(ctx)
		if err != nil {
			cancel()
			return nil, err
		}
		sent = make(chan struct{})
		go func() {
			defer close(sent)
			if err := sendBody(call, body, first); err != nil {
				cancel() // a body that breaks off must not count as complete
			}
		}()
		return receiver(call, nil)
	}}.ServeHTTP(w, r)
}

// ending notes when the end of a body has been read.
type ending struct {
	io.Reader
	ended atomic.Bool
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		e.ended.Store(true)
	}
	return n, err
}

// sendBody sends a body in pieces, the first of them with the name. A call that takes no more
// is no error, since its answer gives the reason.
func sendBody(call nodev1.ImagesService_ImportImagesClient, body io.Reader, message *nodev1.ImportImagesRequest) error {
	buffer := make([]byte, importChunk)
	for {
		n, err := body.Read(buffer)
		message.Chunk = buffer[:n]
		if n > 0 || message.GetName() != "" {
			if err := call.Send(message); err != nil {
				return nil
			}
		}
		message = &nodev1.ImportImagesRequest{}
		switch {
		case errors.Is(err, io.EOF):
			return call.CloseSend()
		case err != nil:
			return err
		}
	}
}
