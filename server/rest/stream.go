package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/server/trace"
	"nodal/server/wire"
)

// stream answers a request with the messages of a server stream: plain bytes,
// server-sent events, or a JSON object a line.
type stream struct {
	open  func(context.Context, *http.Request) (recv, error)
	plain bool
}

// recv returns the next message, or io.EOF after the last.
type recv func() (proto.Message, error)

// keepAliveInterval keeps proxies from cutting an idle stream of server-sent events.
const keepAliveInterval = 15 * time.Second

func (s stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(trace.ForwardParent(r.Context(), r))
	defer cancel()
	next, err := s.open(ctx, r)
	if err != nil {
		wire.WriteStatus(w, status.Convert(err))
		return
	}
	// Before the first message, an error can still set the HTTP code.
	first, err := next()
	if err != nil && !errors.Is(err, io.EOF) {
		wire.WriteStatus(w, status.Convert(err))
		return
	}
	out := newStreamWriter(w, s.form(r))
	defer wire.EndInTime(out.control)
	if err == nil {
		err = out.send(first)
	}
	if err == nil {
		err = s.copy(ctx, out, next)
	}
	if err == nil || errors.Is(err, io.EOF) || ctx.Err() != nil {
		return
	}
	if out.fail(status.Convert(err)) != nil {
		// The answer is cut short and must not look complete. This panic makes net/http
		// break the connection.
		panic(http.ErrAbortHandler)
	}
}

func (s stream) form(r *http.Request) streamForm {
	switch {
	case s.plain:
		return plainForm{}
	case strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
		return eventForm{}
	}
	return lineForm{}
}

// copy sends messages until the stream ends.
func (s stream) copy(ctx context.Context, out *streamWriter, next recv) error {
	if out.form.keepAlive() == nil {
		for {
			message, err := next()
			if err != nil {
				return err
			}
			if err := out.send(message); err != nil {
				return err
			}
		}
	}
	messages, end := make(chan proto.Message), make(chan error, 1)
	go func() {
		for {
			message, err := next()
			if err != nil {
				end <- err
				return
			}
			select {
			case messages <- message:
			case <-ctx.Done():
				return
			}
		}
	}()
	return copyWithKeepAlives(ctx, out, messages, end)
}

func copyWithKeepAlives(ctx context.Context, out *streamWriter, messages <-chan proto.Message, end <-chan error) error {
	ticker := time.NewTicker(keepAliveInterval)
	defer ticker.Stop()
	for {
		var err error
		select {
		case message := <-messages:
			err = out.send(message)
		case <-ticker.C:
			err = out.write(out.form.keepAlive())
		case err = <-end:
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// watch opens the stream of a method that takes a query. A request that has a revision
// resumes at the one that the client names.
func watch[Q, M any, Request message[Q], Message message[M]](
	call func(context.Context, Request, ...grpc.CallOption) (grpc.ServerStreamingClient[M], error),
) func(context.Context, *http.Request) (recv, error) {
	return func(ctx context.Context, r *http.Request) (recv, error) {
		request := Request(new(Q))
		if err := fillFrom(r, request); err != nil {
			return nil, err
		}
		if err := resume(r, request.ProtoReflect()); err != nil {
			return nil, err
		}
		return receiver[M, Message](call(ctx, request))
	}
}

// message is a pointer to a generated message.
type message[M any] interface {
	*M
	proto.Message
}

// readLogs opens the log that the path names.
func readLogs(client nodev1.LogsServiceClient) func(context.Context, *http.Request) (recv, error) {
	return func(ctx context.Context, r *http.Request) (recv, error) {
		request := &nodev1.ReadLogsRequest{}
		if err := fillFrom(r, request); err != nil {
			return nil, err
		}
		request.Namespace, request.Name = chi.URLParam(r, "namespace"), chi.URLParam(r, "name")
		request.Container = chi.URLParam(r, "container")
		return receiver(client.ReadLogs(ctx, request))
	}
}

// readNodeLog opens the log of the machine that the path names.
func readNodeLog(client nodev1.NodeLogsServiceClient) func(context.Context, *http.Request) (recv, error) {
	return func(ctx context.Context, r *http.Request) (recv, error) {
		request := &nodev1.ReadNodeLogRequest{}
		if err := fillFrom(r, request); err != nil {
			return nil, err
		}
		request.Source = chi.URLParam(r, "source")
		return receiver(client.ReadNodeLog(ctx, request))
	}
}

func receiver[M any, P message[M]](stream grpc.ServerStreamingClient[M], err error) (recv, error) {
	if err != nil {
		return nil, err
	}
	return func() (proto.Message, error) {
		message, err := stream.Recv()
		if err != nil {
			return nil, err
		}
		return P(message), nil
	}, nil
}

func fillFrom(r *http.Request, request proto.Message) error {
	if err := runtime.PopulateQueryParameters(request, r.URL.Query(), utilities.NewDoubleArray(nil)); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return nil
}

// resume sets the revision that a browser sends when it comes back, since the address that
// it comes back to still holds its first one.
func resume(r *http.Request, request protoreflect.Message) error {
	field := request.Descriptor().Fields().ByName("since_revision")
	last := r.Header.Get("Last-Event-ID")
	if field == nil || last == "" {
		return nil
	}
	revision, err := strconv.ParseInt(last, 10, 64)
	if err != nil || revision < 0 {
		return status.Error(codes.InvalidArgument, fmt.Sprintf("Last-Event-ID %q is no revision", last))
	}
	request.Set(field, protoreflect.ValueOfInt64(revision))
	return nil
}
