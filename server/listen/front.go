package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
)

// Config says what a Front serves.
type Config struct {
	HTTP http.Handler
	GRPC *grpc.Server // made with GRPCOptions
	// Fallback serves gRPC that comes by net/http, from a client that offers http/1.1 too. It has to identify the caller
	// before it reads a message. nil means that such calls are not found.
	Fallback http.Handler
	// ConnContext adds facts about a connection to the context of its HTTP requests.
	ConnContext func(context.Context, net.Conn) context.Context
	// Knows reports whether the headers of a request, or its connection, prove an identity, and names it. The body is not
	// there yet. If it is nil, no caller is known.
	Knows func(*http.Request) (caller string, known bool)
	Grace time.Duration // for requests in flight when Serve ends; 0 means 5 s
	Log   *slog.Logger
}

// Source is a listener, with TLS unless the configuration is nil.
type Source struct {
	Listener net.Listener
	TLS      *tls.Config
}

// Front serves HTTP and gRPC together on any number of listeners.
type Front struct {
	grpc        *grpc.Server
	toGRPC      *handoff
	http1       backend
	http2       backend // of known callers
	lobby       backend // HTTP/2 of strangers
	newcomers   *crowd
	strangers   *crowd
	knows       func(*http.Request) (caller string, known bool)
	unfinished  *unfinished
	connContext func(context.Context, net.Conn) context.Context
	grace       time.Duration
	log         *slog.Logger
}

// backend is an HTTP server behind the front.
type backend struct {
	*http.Server
	conns *handoff
}

// New returns a Front. It serves once.
func New(cfg Config) *Front {
	f := &Front{
		grpc:        cfg.GRPC,
		toGRPC:      newHandoff(),
		newcomers:   &crowd{most: maxNewcomers, each: maxNewcomersEach},
		strangers:   &crowd{most: maxStrangers, each: maxStrangersEach, requests: strangerRequests, age: strangerAge},
		knows:       cfg.Knows,
		unfinished:  &unfinished{},
		connContext: cfg.ConnContext,
		grace:       cfg.Grace,
		log:         cfg.Log,
	}
	if f.grace == 0 {
		f.grace = 5 * time.Second
	}
	if f.log == nil {
		f.log = slog.Default()
	}
	if f.knows == nil {
		f.knows = func(*http.Request) (string, bool) { return "", false }
	}
	if cfg.Fallback == nil {
		cfg.Fallback = http.NotFoundHandler()
	}
	handler := f.receive(splitGRPC(waitForMessage(f.meter(cfg.Fallback)), cfg.HTTP))
	f.http1, f.http2, f.lobby = f.newBackend(handler), f.newBackend(handler), f.newBackend(handler)
	f.http1.Protocols.SetHTTP1(true)
	// To net/http a guest is a connection without TLS.
	f.http2.Protocols.SetUnencryptedHTTP2(true)
	f.lobby.Protocols.SetUnencryptedHTTP2(true)
	f.http2.IdleTimeout, f.lobby.IdleTimeout = -1, -1 // idler.go
	f.lobby.HTTP2 = &http.HTTP2Config{
		MaxConcurrentStreams: strangerStreams,
		MaxReadFrameSize:     smallestFrame,
		// Less than a client's first window would punish those that send before they have read it.
		MaxReceiveBufferPerConnection: smallestWindow,
		MaxReceiveBufferPerStream:     smallestWindow,
	}
	return f
}

// newBackend returns a server that is handed its connections.
func (f *Front) newBackend(handler http.Handler) backend {
	s := Plain(handler, f.log)
	s.Protocols = new(http.Protocols)
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		ctx = context.WithValue(ctx, guestKey{}, c)
		if f.connContext == nil {
			return ctx
		}
		return f.connContext(ctx, bottom(c))
	}
	return backend{s, newHandoff()}
}

// splitGRPC returns a handler that passes gRPC calls over HTTP/2 to grpc, and all other
// requests to next.
func splitGRPC(grpc, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && isGRPC(r.Header.Get("Content-Type")) {
			grpc.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isGRPC is careful not to take application/grpc-web.
func isGRPC(contentType string) bool {
	rest, ok := strings.CutPrefix(contentType, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// Serve accepts from sources until ctx ends, lets requests in flight finish within the
// grace period, and closes the listeners. It returns nil if ctx ended it. Handlers that
// stream without end should end by themselves when ctx does; the grace period cuts the
// others.
func (f *Front) Serve(ctx context.Context, sources ...Source) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, b := range f.servers() {
		group.Go(func() error { return expected(b.Serve(b.conns), http.ErrServerClosed) })
	}
	group.Go(func() error { return expected(f.grpc.Serve(f.toGRPC), grpc.ErrServerStopped) })
	for _, s := range sources {
		group.Go(func() error { return f.accept(ctx, s) })
	}
	group.Go(func() error {
		<-ctx.Done()
		for _, s := range sources {
			s.Listener.Close()
		}
		f.newcomers.closeAll()
		f.drain(context.WithoutCancel(ctx))
		return nil
	})
	return group.Wait()
}

func expected(err, end error) error {
	if errors.Is(err, end) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (f *Front) servers() []backend { return []backend{f.http1, f.http2, f.lobby} }

// drain stops accepting requests, and lets those in flight finish within the grace period. It
// ends HTTP first, since gRPC calls may run inside of it.
func (f *Front) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, f.grace)
	defer cancel()
	var ending sync.WaitGroup
	for _, b := range f.servers() {
		ending.Go(func() {
			if b.Shutdown(ctx) != nil {
				b.Server.Close()
			}
			b.conns.Close()
		})
	}
	ending.Wait()
	// A watch without an end must not outlive the grace period.
	stop := context.AfterFunc(ctx, f.grpc.Stop)
	defer stop()
	f.grpc.GracefulStop()
	f.toGRPC.Close()
}

// accept outlives a passing failure, such as no file descriptor being free.
func (f *Front) accept(ctx context.Context, s Source) error {
	sort := f.sortPlain
	if s.TLS != nil {
		sort = f.sortTLS(s.TLS)
	}
	for delay := time.Duration(0); ; {
		conn, err := s.Listener.Accept()
		switch {
		case err == nil:
			delay = 0
			// Here, not in the goroutine: the crowd goes by the order in which connections come.
			go f.bring(ctx, conn, f.newcomers.add(conn), sort)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept on %s: %w", s.Listener.Addr(), err)
		default:
			delay = min(max(2*delay, 5*time.Millisecond), time.Second)
			f.log.Warn("cannot accept a connection", "address", s.Listener.Addr(), "err", err, "retry", delay)
			select {
			case <-time.After(delay):
			case <-ctx.Done():
			}
		}
	}
}

// meter counts the unfinished messages of known callers of gRPC that come by net/http.
func (f *Front) meter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if caller, known := f.knows(r); known {
			body := &meteredBody{ReadCloser: r.Body, caller: caller, of: f.unfinished}
			defer body.finish()
			r.Body = body
		}
		next.ServeHTTP(w, r)
	})
}

// bring waits until conn has said what it is and who its caller is, and passes it on.
func (f *Front) bring(ctx context.Context, conn net.Conn, place *member, sort sorter) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	to, sorted, err := f.meet(ctx, conn, place, sort)
	if err != nil {
		f.log.Debug("connection dropped", "remote", conn.RemoteAddr(), "err", err)
		place.leave()
		conn.Close()
		return
	}
	if !to.pass(sorted) {
		sorted.Close()
	}
}

// meet finds the server for a connection. A caller is known by its connection, or by the first
// request of it; one that is not gets HTTP/1.1, or the HTTP/2 of the lobby.
func (f *Front) meet(ctx context.Context, conn net.Conn, place *member, sort sorter) (*handoff, net.Conn, error) {
	conn, is, err := sort(ctx, conn)
	if err != nil {
		return nil, nil, err
	}
	caller, known := f.proves(ctx, conn, nil)
	if is == forHTTP1 {
		if known {
			place.leave()
			place = nil
		}
		return f.http1.conns, newGuest(conn, place), nil
	}
	if !known {
		o, err := hear(ctx, conn)
		if err != nil {
			return nil, nil, err
		}
		if o.first != nil {
			caller, known = f.proves(ctx, conn, o.first)
		}
		conn = &replay{Conn: conn, heard: o.heard, acked: o.acked}
	}
	place.leave()
	switch {
	case !known:
		return f.lobby.conns, newHTTP2Guest(conn, f.strangers.add(conn), strangerIdle), nil
	case is == forGRPC:
		return f.toGRPC, newMetered(conn, caller, f.unfinished), nil
	}
	return f.http2.conns, newHTTP2Guest(conn, nil, idleTimeout), nil
}
