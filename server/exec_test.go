package server

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

const runPath = "/v1/namespaces/default/pods/web/containers/main:run"

func TestACommandRunsToItsEnd(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	n.runtime.execSync = func(_ context.Context, id string, command []string, timeout time.Duration) ([]byte, []byte, int32, error) {
		return []byte(fmt.Sprint(id, command, timeout)), []byte("oops"), 3, nil
	}
	got := n.do(t, "POST", runPath, `{"command":["ls","-l"]}`)
	for _, want := range []string{
		base64.StdEncoding.EncodeToString([]byte("web-main-0[ls -l] 30s")), base64.StdEncoding.EncodeToString([]byte("oops")), `"exitCode":3`,
	} {
		if !strings.Contains(strings.ReplaceAll(got.body, " ", ""), want) {
			t.Errorf("got %d %s, want %s in it", got.status, got.body, want)
		}
	}
}

func TestACommandThatCannotRunSaysWhy(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	client := nodev1.NewExecServiceClient(n.dial(t))
	cases := []struct {
		name string
		err  error
		want codes.Code
	}{
		{"no such program", errors.New(`exec: "nothing": executable file not found in $PATH`), codes.InvalidArgument},
		{"something nobody foresaw", errors.New("the moon is full"), codes.Internal},
		{"no runtime", fmt.Errorf("run a command: %w", node.ErrUnavailable), codes.Unavailable},
		{"the container is gone", fmt.Errorf("run a command: %w", node.ErrNotFound), codes.NotFound},
	}
	for _, c := range cases {
		n.runtime.execSync = func(context.Context, string, []string, time.Duration) ([]byte, []byte, int32, error) {
			return nil, nil, 0, c.err
		}
		_, err := client.Run(t.Context(), &nodev1.RunRequest{Namespace: "default", Name: "web", Container: "main", Command: []string{"nothing"}})
		if status.Code(err) != c.want || !strings.Contains(err.Error(), c.err.Error()) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	_, err := client.Run(t.Context(), &nodev1.RunRequest{
		Namespace: "default", Name: "web", Container: "main", Command: []string{"ls"}, Timeout: durationpb.New(-time.Second),
	})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("negative timeout: got %v, want InvalidArgument", err)
	}
}

func TestALiveCommandTalksBothWays(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	n.runtime.exec = func(_ context.Context, _ string, _ []string, s node.Streams) (int32, error) {
		said, err := io.ReadAll(s.Stdin)
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(s.Stdout, "heard %s", said)
		fmt.Fprint(s.Stderr, "and complains")
		return 7, nil
	}
	stream, err := nodev1.NewExecServiceClient(n.dial(t)).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	start := &nodev1.ExecStart{Namespace: "default", Name: "web", Container: "main", Command: []string{"cat"}, Stdin: true}
	for _, m := range []*nodev1.ExecRequest{
		{Input: &nodev1.ExecRequest_Start{Start: start}},
		{Input: &nodev1.ExecRequest_Stdin{Stdin: []byte("one ")}},
		{Input: &nodev1.ExecRequest_Stdin{Stdin: []byte("two")}},
		{Input: &nodev1.ExecRequest_StdinClosed{StdinClosed: true}},
	} {
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch out := m.GetOutput().(type) {
		case *nodev1.ExecResponse_Stdout:
			got = append(got, string(out.Stdout))
		case *nodev1.ExecResponse_Stderr:
			got = append(got, string(out.Stderr))
		case *nodev1.ExecResponse_ExitCode:
			got = append(got, fmt.Sprint(out.ExitCode))
		}
	}
	if want := []string{"heard one two", "and complains", "7"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestATerminalLearnsItsSize(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	n.runtime.exec = func(_ context.Context, _ string, _ []string, s node.Streams) (int32, error) {
		size := <-s.Resize
		fmt.Fprintf(s.Stdout, "%dx%d %v", size.Width, size.Height, s.Stderr == nil)
		return 0, nil
	}
	stream, err := nodev1.NewExecServiceClient(n.dial(t)).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	start := &nodev1.ExecStart{Namespace: "default", Name: "web", Container: "main", Command: []string{"sh"}, Tty: true}
	for _, m := range []*nodev1.ExecRequest{
		{Input: &nodev1.ExecRequest_Start{Start: start}},
		{Input: &nodev1.ExecRequest_Resize{Resize: &nodev1.TerminalSize{Width: 80, Height: 25}}},
	} {
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	m, err := stream.Recv()
	if err != nil || string(m.GetStdout()) != "80x25 true" {
		t.Errorf("got %v, %v", m, err)
	}
}

func TestAClientThatIsGoneEndsItsCommand(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	ended := make(chan struct{})
	n.runtime.exec = func(ctx context.Context, _ string, _ []string, s node.Streams) (int32, error) {
		fmt.Fprint(s.Stdout, "here")
		<-ctx.Done()
		close(ended)
		return 0, ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := nodev1.NewExecServiceClient(n.dial(t)).Exec(ctx)
	if err != nil {
		t.Fatal(err)
	}
	start := &nodev1.ExecStart{Namespace: "default", Name: "web", Container: "main", Command: []string{"sh"}, Stdin: true}
	if err := stream.Send(&nodev1.ExecRequest{Input: &nodev1.ExecRequest_Start{Start: start}}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-ended
}

func TestTheKubeletsRunAnswersWithRawOutput(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	n.runtime.execSync = func(_ context.Context, _ string, command []string, _ time.Duration) ([]byte, []byte, int32, error) {
		if command[0] == "false" {
			return nil, []byte("no"), 1, nil
		}
		return []byte(strings.Join(command, "|")), []byte("!"), 0, nil
	}
	cases := []struct {
		path string
		code int
		body string
	}{
		{"/run/default/web/main?cmd=ls+-l", 200, "ls|-l!"},
		{"/run/default/web/uid-1/main?cmd=ls", 200, "ls!"},
		{"/run/default/web/other-uid/main?cmd=ls", 404, "pod does not exist"},
		{"/run/default/nobody/main?cmd=ls", 404, "pod does not exist"},
		{"/run/default/web/main?cmd=false", 500, "command 'false' exited with 1: no"},
		{"/run/default/web/main", 400, "no command"},
	}
	for _, c := range cases {
		got := n.do(t, "POST", c.path, "")
		if got.status != c.code || !strings.Contains(got.body, c.body) {
			t.Errorf("%s: got %d %q, want %d %q", c.path, got.status, got.body, c.code, c.body)
		}
	}
}

func TestALiveCommandRunsThroughTheWholeServer(t *testing.T) {
	n := newNode(t)
	n.apply(t, manifestOf("web"))
	n.run(t, "web", node.ContainerRunning)
	n.runtime.exec = func(_ context.Context, id string, command []string, s node.Streams) (int32, error) {
		// Channels share a connection: unread input delays the size.
		text, err := io.ReadAll(s.Stdin)
		size := <-s.Resize
		fmt.Fprintf(s.Stdout, "%s ran %q in %dx%d with %s", id, command, size.Width, size.Height, text)
		return 0, err
	}
	front := httptest.NewServer(n.server.HTTP())
	defer front.Close()
	address := front.URL + "/exec/default/web/main?command=sh&command=-c&input=1&output=1&tty=1"
	client, err := remotecommand.NewWebSocketExecutor(&clientrest.Config{Host: front.URL}, "GET", address)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = client.StreamWithContext(t.Context(), remotecommand.StreamOptions{
		Stdin: strings.NewReader("hello"), Stdout: &out, Tty: true, TerminalSizeQueue: &oneSize{remotecommand.TerminalSize{Width: 80, Height: 24}, false},
	})
	if want := `web-main-0 ran ["sh" "-c"] in 80x24 with hello`; err != nil || out.String() != want {
		t.Errorf("got %q, %v, want %q", out.String(), err, want)
	}
}

type oneSize struct {
	size remotecommand.TerminalSize
	told bool
}

func (s *oneSize) Next() *remotecommand.TerminalSize {
	if s.told {
		return nil
	}
	s.told = true
	return &s.size
}
