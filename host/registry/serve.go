package registry

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server has a store answer on loopback, at a port and with a token of its own.
type Server struct {
	listener net.Listener
	http     *http.Server
	token    string
}

// Listen opens the port. Serve has to follow.
func Listen(s *Store) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the image registry: %w", err)
	}
	token := rand.Text()
	return &Server{
		listener: listener, token: token,
		http: &http.Server{Handler: s.Handler(token), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute},
	}, nil
}

// Mirror returns the address at which a runtime reaches the server.
func (s *Server) Mirror() Mirror {
	return Mirror{URL: "http://" + s.listener.Addr().String(), Token: s.token}
}

// Serve answers until the context ends. A pull that is under way then is cut: the
// runtime asks again.
func (s *Server) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { s.http.Close() })
	defer stop()
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the image registry: %w", err)
	}
	return nil
}
