package listen

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"
)

// Plain returns an HTTP server with the limits that every listener has. Reading a body and
// writing an answer have none, since logs and sessions last: a handler that reads a body sets
// its own with http.ResponseController.
func Plain(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// ServePlain serves the read-only and the health port until ctx ends, then gives requests
// in flight grace to finish. Every caller is a stranger there. When there are too many
// connections, the one that has been idle longest is closed.
func ServePlain(ctx context.Context, server *http.Server, l net.Listener, grace time.Duration) error {
	callers := &crowd{most: maxPlain, each: maxPlain, requests: maxPlain}
	server.Handler = counted(server.Handler)
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, guestKey{}, c) }
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
	})
	err := server.Serve(crowded{l, callers})
	if !stop() {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// crowded is a listener whose connections have places in a crowd.
type crowded struct {
	net.Listener
	crowd *crowd
}

func (l crowded) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newGuest(conn, l.crowd.add(conn)), nil
}

// counted has the connection of a request count as busy.
func counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if place := guestOf(r.Context()).place.Load(); place != nil {
			place.begin()
			defer place.finish()
		}
		next.ServeHTTP(w, r)
	})
}

// ServeGRPC serves gRPC alone, without a Front, until ctx ends, then gives calls in flight grace to finish. A server that is
// stopped before it serves says so; that is no failure either.
func ServeGRPC(ctx context.Context, server *grpc.Server, l net.Listener, grace time.Duration) error {
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		late := time.AfterFunc(grace, server.Stop)
		defer late.Stop()
		server.GracefulStop()
	})
	err := server.Serve(l)
	if !stop() {
		<-ended
	}
	return expected(err, grpc.ErrServerStopped)
}
