package stream

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"nodal/node"
)

// TestOldWebSocketClientsAreServed covers versions before 4, and clients that name no protocol.
func TestOldWebSocketClientsAreServed(t *testing.T) {
	_, address := serve(t, func(_ context.Context, s node.Streams) (int32, error) {
		_, err := fmt.Fprint(s.Stdout, "hello")
		return 3, err
	})
	address.RawQuery = "output=1"
	for _, c := range []struct{ name, protocol, stdout, end string }{
		{"no protocol", "", "\x01hello", "\x03command terminated with non-zero exit code: 3"},
		{"channels", "channel.k8s.io", "\x01hello", "\x03command terminated with non-zero exit code: 3"},
		{"channels in base64", "base64.channel.k8s.io", "1aGVsbG8=", "3Y29tbWFuZCB0ZXJtaW5hdGVkIHdpdGggbm9uLXplcm8gZXhpdCBjb2RlOiAz"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dialer := websocket.Dialer{}
			if c.protocol != "" {
				dialer.Subprotocols = []string{c.protocol}
			}
			conn, response, err := dialer.DialContext(t.Context(), strings.Replace(address.String(), "http", "ws", 1), nil)
			if err != nil {
				t.Fatalf("%v, %v", err, response)
			}
			defer conn.Close()
			for _, want := range []string{c.stdout, c.end} {
				if _, got, err := conn.ReadMessage(); err != nil || string(got) != want {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
			}
		})
	}
}
