package cri

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport/spdy"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/streaming/pkg/httpstream"
)

// PortForward connects a stream with a port inside a sandbox until the sandbox's side closes. A client that has sent
// all may go on receiving.
func (s *Streams) PortForward(ctx context.Context, sandboxID string, port int32, client io.ReadWriter) error {
	address, err := s.forwardURL(ctx, sandboxID, port)
	if err != nil {
		return err
	}
	connection, err := dialForward(address)
	if err != nil {
		return fmt.Errorf("set up a stream to sandbox %s: %w", sandboxID, err)
	}
	defer connection.Close()
	// Closing the connection ends reads and writes that still wait.
	defer context.AfterFunc(ctx, func() { connection.Close() })()
	if err := forward(connection, port, client); err != nil {
		return fmt.Errorf("forward port %d of sandbox %s: %w", port, sandboxID, err)
	}
	return nil
}

func (s *Streams) forwardURL(ctx context.Context, sandboxID string, port int32) (*url.URL, error) {
	ctx, cancel := s.conn.request(ctx)
	defer cancel()
	reply, err := s.conn.runtime.PortForward(ctx, &runtimeapi.PortForwardRequest{
		PodSandboxId: sandboxID, Port: []int32{port},
	})
	if err != nil {
		return nil, explain(err, "prepare to forward a port of sandbox "+sandboxID)
	}
	return localURL(reply.GetUrl())
}

func dialForward(address *url.URL) (httpstream.Connection, error) {
	transport, upgrader, err := spdy.RoundTripperFor(&rest.Config{})
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("the runtime's streaming server redirects elsewhere")
	}}
	dialer := spdy.NewDialerForStreaming(upgrader, client, http.MethodPost, address)
	connection, _, err := dialer.Dial(portforward.ProtocolV1Name)
	return connection, err
}

// forward opens the two streams that the protocol has for one connection. It copies the data both ways over one; the
// runtime reports a failure on the other.
func forward(connection httpstream.Connection, port int32, client io.ReadWriter) error {
	headers := http.Header{}
	headers.Set(portforward.PortHeader, strconv.Itoa(int(port)))
	headers.Set(portforward.PortForwardRequestIDHeader, "0")
	headers.Set(portforward.StreamType, portforward.StreamTypeError)
	failures, err := connection.CreateStream(headers)
	if err != nil {
		return err
	}
	failures.Close() // only the runtime writes to it
	failed := make(chan error, 1)
	go func() { failed <- said(failures) }()
	headers.Set(portforward.StreamType, portforward.StreamTypeData)
	data, err := connection.CreateStream(headers)
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(data, client) // an error shows in the other direction
		data.Close()
	}()
	_, err = io.Copy(client, data)
	return errors.Join(<-failed, err)
}

// said reads the error text of the stream, if any.
func said(stream io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(stream, 4<<10))
	if len(text) > 0 {
		return errors.New(string(text))
	}
	return err
}
