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
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
)

// Config says what a Front serves.
type Config struct {
	HTTP http.Handler
	GRPC *grpc.Server // made with GRPCOptions
	// ConnContext adds facts about a connection to the context of its HTTP requests.
	ConnContext func(context.Context, net.Conn) context.Context
	Grace       time.Duration // for requests in flight when Serve ends; 0 means 5 s
	Log         *slog.Logger
}

// Source is a listener, with TLS unless the configuration is nil.
type Source struct {
	Listener net.Listener
	TLS      *tls.Config
}

// Front serves HTTP and gRPC together on any number of listeners.
type Front struct {
	grpc    *grpc.Server
	http    *http.Server
	toGRPC  *handoff
	toHTTP  *handoff
	pending *pending
	grace   time.Duration
	log     *slog.Logger
}

// New returns a Front. It serves once.
func New(cfg Config) *Front {
	f := &Front{
		grpc:    cfg.GRPC,
		toGRPC:  newHandoff(),
		toHTTP:  newHandoff(),
		pending: newPending(maxPending),
		grace:   cfg.Grace,
		log:     cfg.Log,
	}
	if f.grace == 0 {
		f.grace = 5 * time.Second
	}
	if f.log == nil {
		f.log = slog.Default()
	}
	f.http = Plain(f.fallback(cfg.HTTP), f.log)
	if cfg.ConnContext != nil {
		f.http.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			return cfg.ConnContext(ctx, bottom(c))
		}
	}
	return f
}

// fallback hands gRPC that came over net/http, from a client that offers http/1.1 too,
// to the gRPC server.
func (f *Front) fallback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && isGRPC(r.Header.Get("Content-Type")) {
			f.grpc.ServeHTTP(w, r)
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
	group.Go(func() error { return expected(f.http.Serve(f.toHTTP), http.ErrServerClosed) })
	group.Go(func() error { return expected(f.grpc.Serve(f.toGRPC), grpc.ErrServerStopped) })
	for _, s := range sources {
		group.Go(func() error { return f.accept(ctx, s) })
	}
	group.Go(func() error {
		<-ctx.Done()
		for _, s := range sources {
			s.Listener.Close()
		}
		f.pending.closeAll()
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

// drain ends HTTP first, since gRPC calls may run inside of it.
func (f *Front) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, f.grace)
	defer cancel()
	if f.http.Shutdown(ctx) != nil {
		f.http.Close()
	}
	// A watch without an end must not outlive the grace period.
	stop := context.AfterFunc(ctx, f.grpc.Stop)
	defer stop()
	f.grpc.GracefulStop()
	f.toHTTP.Close()
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
			go f.bring(ctx, conn, sort)
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

// bring waits until conn has said what it is, and passes it on.
func (f *Front) bring(ctx context.Context, conn net.Conn, sort sorter) {
	place := f.pending.add(conn)
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	sorted, isGRPC, err := sort(ctx, conn)
	f.pending.remove(place)
	if err != nil {
		f.log.Debug("connection dropped", "remote", conn.RemoteAddr(), "err", err)
		conn.Close()
		return
	}
	to := f.toHTTP
	if isGRPC {
		to = f.toGRPC
	}
	if !to.pass(sorted) {
		sorted.Close()
	}
}
