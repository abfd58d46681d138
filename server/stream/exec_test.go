package stream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	names "k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	framing "k8s.io/streaming/pkg/httpstream/spdy"
	utilexec "k8s.io/utils/exec"

	"nodal/node"
)

// serve runs command for every request.
func serve(t *testing.T, command Command) (*rest.Config, *url.URL) {
	t.Helper()
	return serveIdle(t, time.Hour, command)
}

// serveIdle does so on connections that may be idle for a time.
func serveIdle(t *testing.T, idle time.Duration, command Command) (*rest.Config, *url.URL) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wanted, err := WantedIn(r.URL.Query())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		Serve(w, r, wanted, idle, command)
	}))
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &rest.Config{Host: server.URL}, address
}

// executors are the clients that kubectl and API servers are built from.
var executors = map[string]func(*rest.Config, *url.URL) (remotecommand.Executor, error){
	"over a WebSocket": func(c *rest.Config, u *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewWebSocketExecutor(c, http.MethodGet, u.String())
	},
	"over SPDY": func(c *rest.Config, u *url.URL) (remotecommand.Executor, error) {
		return remotecommand.NewSPDYExecutor(c, http.MethodPost, u)
	},
}

type sizes struct{ left []remotecommand.TerminalSize }

func (s *sizes) Next() *remotecommand.TerminalSize {
	if len(s.left) == 0 {
		return nil
	}
	next := s.left[0]
	s.left = s.left[1:]
	return &next
}

func TestACommandTalksToItsClient(t *testing.T) {
	cases := []struct {
		name, query    string
		options        remotecommand.StreamOptions
		command        Command
		stdout, stderr string
		exit           int
		fails          string
	}{
		{
			name: "input goes in until its end, outputs come out apart", query: "input=1&output=1&error=1",
			options: remotecommand.StreamOptions{Stdin: strings.NewReader("hello")},
			command: func(ctx context.Context, s node.Streams) (int32, error) {
				text, err := io.ReadAll(s.Stdin)
				fmt.Fprintf(s.Stdout, "out %s", text)
				fmt.Fprintf(s.Stderr, "err %s", text)
				return 0, errors.Join(err, ctx.Err()) // the client still listens
			},
			stdout: "out hello", stderr: "err hello",
		},
		{
			name: "an exit code arrives", query: "output=1",
			command: func(context.Context, node.Streams) (int32, error) { return 42, nil },
			exit:    42,
		},
		{
			name: "a command that cannot run says why", query: "output=1",
			command: func(context.Context, node.Streams) (int32, error) { return 0, errors.New("no such program") },
			fails:   "no such program",
		},
		{
			name: "a terminal has one output and a size", query: "input=1&output=1&error=1&tty=1",
			options: remotecommand.StreamOptions{Stdin: strings.NewReader(""), Tty: true},
			command: func(_ context.Context, s node.Streams) (int32, error) {
				size := <-s.Resize
				_, err := fmt.Fprintf(s.Stdout, "%dx%d %t %t", size.Width, size.Height, s.TTY, s.Stderr == nil)
				return 0, err
			},
			stdout: "80x24 true true",
		},
		{
			name: "without input there is none", query: "output=1",
			command: func(_ context.Context, s node.Streams) (int32, error) {
				_, err := fmt.Fprint(s.Stdout, s.Stdin == nil, s.Stderr == nil, s.Resize == nil)
				return 0, err
			},
			stdout: "true true true",
		},
	}
	for _, c := range cases {
		for how, executor := range executors {
			t.Run(c.name+" "+how, func(t *testing.T) {
				config, address := serve(t, c.command)
				address.RawQuery = c.query
				client, err := executor(config, address)
				if err != nil {
					t.Fatal(err)
				}
				var stdout, stderr bytes.Buffer
				options := c.options
				options.Stdout = &stdout
				if strings.Contains(c.query, "error=1") && !options.Tty {
					options.Stderr = &stderr
				}
				if in, ok := options.Stdin.(*strings.Reader); ok {
					fresh := *in // the client of the case before may still read its own
					options.Stdin = &fresh
				}
				if options.Tty {
					options.TerminalSizeQueue = &sizes{left: []remotecommand.TerminalSize{{Width: 80, Height: 24}}}
				}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				err = client.StreamWithContext(ctx, options)
				checkEnd(t, err, c.exit, c.fails)
				if stdout.String() != c.stdout || stderr.String() != c.stderr {
					t.Errorf("got %q and %q, want %q and %q", &stdout, &stderr, c.stdout, c.stderr)
				}
			})
		}
	}
}

func checkEnd(t *testing.T, err error, exit int, fails string) {
	t.Helper()
	var code utilexec.ExitError
	switch {
	case fails != "":
		if err == nil || !strings.Contains(err.Error(), fails) {
			t.Errorf("got %v, want %q", err, fails)
		}
	case exit != 0:
		if !errors.As(err, &code) || code.ExitStatus() != exit {
			t.Errorf("got %v, want exit code %d", err, exit)
		}
	case err != nil:
		t.Errorf("got %v", err)
	}
}

func TestAClientThatGoesEndsItsCommand(t *testing.T) {
	ways := map[string]func(t *testing.T, config *rest.Config, address *url.URL, started <-chan struct{}){
		"cut off over SPDY": cutOff,
	}
	for how, executor := range executors {
		ways[how] = func(t *testing.T, config *rest.Config, address *url.URL, started <-chan struct{}) {
			client, err := executor(config, address)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-started
				cancel()
			}()
			_ = client.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: io.Discard}) // it was cancelled
		}
	}
	for how, leave := range ways {
		t.Run(how, func(t *testing.T) {
			started, ended := make(chan struct{}), make(chan struct{})
			config, address := serve(t, func(ctx context.Context, s node.Streams) (int32, error) {
				close(started)
				<-ctx.Done()
				close(ended)
				return 0, ctx.Err()
			})
			address.RawQuery = "output=1"
			leave(t, config, address, started)
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				t.Error("the command goes on")
			}
		})
	}
}

// cutOff is a client whose connection breaks, like that of a killed process.
func cutOff(t *testing.T, _ *rest.Config, address *url.URL, started <-chan struct{}) {
	plain, err := net.Dial("tcp", address.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	fmt.Fprintf(plain, "POST /?%s HTTP/1.1\r\nHost: node\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s: %s\r\n\r\n",
		address.RawQuery, framing.HeaderSpdy31, httpstream.HeaderProtocolVersion, names.StreamProtocolV4Name)
	response, err := http.ReadResponse(bufio.NewReader(plain), nil) // SPDY's server speaks second
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", response, err)
	}
	connection, err := framing.NewClientConnection(plain)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{names.StreamTypeError, names.StreamTypeStdout} {
		if _, err := connection.CreateStream(http.Header{names.StreamType: {kind}}); err != nil {
			t.Fatal(err)
		}
	}
	<-started
}

func TestARequestWithoutStreamsIsRefused(t *testing.T) {
	cases := []struct {
		name, query string
		want        Wanted
		fails       bool
	}{
		{"none", "tty=1", Wanted{TTY: true}, true},
		{"only errors", "error=1", Wanted{Stderr: true}, false},
		{"a terminal shows errors in its output", "output=1&error=1&tty=1", Wanted{Stdout: true, TTY: true}, false},
		{"true is as good as 1", "input=true", Wanted{Stdin: true}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			query, err := url.ParseQuery(c.query)
			if err != nil {
				t.Fatal(err)
			}
			got, err := WantedIn(query)
			if got != c.want || errors.Is(err, node.ErrInvalid) != c.fails {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	for name, connect := range executors {
		t.Run(name, func(t *testing.T) {
			ended := make(chan struct{})
			config, address := serveIdle(t, 100*time.Millisecond, func(ctx context.Context, _ node.Streams) (int32, error) {
				defer close(ended)
				<-ctx.Done()
				return 0, ctx.Err()
			})
			address.RawQuery = "output=1"
			executor, err := connect(config, address)
			if err != nil {
				t.Fatal(err)
			}
			// Whether that is an error the client's library decides; the connection must end.
			_ = executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: io.Discard})
			<-ended
		})
	}
}
