package listen

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestUnixTakesOnlyWhatIsLeftBehind(t *testing.T) {
	cases := []struct {
		name    string
		prepare func(t *testing.T, path string)
		want    string // of the error
	}{
		{"a new path", func(*testing.T, string) {}, ""},
		{"a socket left behind", func(t *testing.T, path string) {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			l.SetUnlinkOnClose(false)
			l.Close()
		}, ""},
		{"a socket that somebody answers on", func(t *testing.T, path string) {
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
		}, "another process listens on it"},
		{"another file", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "no socket"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "node.sock")
			c.prepare(t, path)
			before, _ := os.Lstat(path)
			l, err := Unix(path)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
					t.Error("the file was touched")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm(); got != 0o660 {
				t.Errorf("mode %o, want 660", got)
			}
		})
	}
}

func TestServePlainEndsWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := Plain(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }), slog.Default())
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- ServePlain(ctx, server, l, time.Second) }()
	resp, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the port is still open")
	}
}

func TestAPlainPortKeepsConnectionsThatAsk(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked, answer := make(chan struct{}), make(chan struct{})
	server := Plain(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-answer
	}), slog.Default())
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- ServePlain(ctx, server, l, time.Second) }()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		return conn
	}
	busy := dial()
	io.WriteString(busy, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	<-asked
	idle := dial()
	for range maxPlain - 1 {
		dial()
	}
	if _, err := idle.Read(make([]byte, 1)); isTimeout(err) {
		t.Error("the oldest idle connection is still open")
	}
	close(answer)
	if _, err := busy.Read(make([]byte, 1)); err != nil {
		t.Errorf("the one that asks: %v", err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
