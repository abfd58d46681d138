package listen

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 90 * time.Second
	maxHeaderBytes    = 1 << 20
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
// in flight grace to finish.
func ServePlain(ctx context.Context, server *http.Server, l net.Listener, grace time.Duration) error {
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
	})
	err := server.Serve(l)
	if !stop() {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
