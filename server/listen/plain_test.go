package listen

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
)

func TestAServerOfGRPCEndsWithoutAnErrorWheneverItIsToldTo(t *testing.T) {
	for _, when := range []string{"before it serves", "while it serves"} {
		t.Run(when, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			server := grpc.NewServer(grpc.ConnectionTimeout(100 * time.Millisecond)) // of a caller that says nothing
			if when == "before it serves" {
				server.Stop()
				cancel()
			}
			ended := make(chan error, 1)
			go func() { ended <- ServeGRPC(ctx, server, l, time.Second) }()
			if when == "while it serves" {
				c, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
			}
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("it ended with %v", err)
			}
			if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
				t.Error("its port is still open")
			}
		})
	}
}
