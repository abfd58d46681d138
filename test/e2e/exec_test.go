package e2e

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"

	nodev1 "nodal/api/gen/node/v1"

	"nodal/test/claim"
	"nodal/test/pace"
)

// execution is the result of a command in a container.
type execution struct {
	stdout, stderr string
	code           int32
}

// exec runs a command over gRPC with the input.
func (n *node) exec(start *nodev1.ExecStart, input string) execution {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), pace.Of(patience))
	defer cancel()
	stream, err := nodev1.NewExecServiceClient(n.conn).Exec(ctx)
	if err != nil {
		n.t.Fatal(err)
	}
	requests := []*nodev1.ExecRequest{{Input: &nodev1.ExecRequest_Start{Start: start}}}
	if start.Stdin {
		requests = append(requests, &nodev1.ExecRequest{Input: &nodev1.ExecRequest_Stdin{Stdin: []byte(input)}},
			&nodev1.ExecRequest{Input: &nodev1.ExecRequest_StdinClosed{StdinClosed: true}})
	}
	for _, request := range requests {
		if err := stream.Send(request); err != nil {
			n.t.Fatalf("exec: %v", err)
		}
	}
	result := execution{code: -1}
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return result
		}
		if err != nil {
			n.t.Fatalf("exec: %v", err)
		}
		switch out := message.Output.(type) {
		case *nodev1.ExecResponse_Stdout:
			result.stdout += string(out.Stdout)
		case *nodev1.ExecResponse_Stderr:
			result.stderr += string(out.Stderr)
		case *nodev1.ExecResponse_ExitCode:
			result.code = out.ExitCode
		}
	}
}

func TestCommandsRunInContainers(t *testing.T) {
	claim.Shows(t, "Exec",
		"a command runs with live streams and ends with its own exit code",
		"standard input is passed on until its end",
		"a command may have a terminal",
		"curl runs a command over REST, and on the path that kubelets have for it",
		"a command that cannot run has another error than one that fails",
	)
	n := start(t)
	n.apply(shell("box", "exec sleep 1000").yaml())
	n.waitRunning("box")
	in := func(command ...string) *nodev1.ExecStart {
		return &nodev1.ExecStart{Namespace: "default", Name: "box", Container: "main", Command: command}
	}
	t.Run("live, with its own exit code", func(t *testing.T) {
		got := n.exec(in("sh", "-c", "echo out; echo err >&2; exit 42"), "")
		if want := (execution{"out\n", "err\n", 42}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
	t.Run("live, with standard input to its end", func(t *testing.T) {
		start := in("wc", "-c")
		start.Stdin = true
		got := n.exec(start, strings.Repeat("x", 300_000))
		if strings.TrimSpace(got.stdout) != "300000" || got.code != 0 {
			t.Errorf("got %+v, want it to have read 300000 bytes", got)
		}
	})
	t.Run("live, on a terminal", func(t *testing.T) {
		start := in("tty")
		start.Tty = true
		if got := n.exec(start, ""); !strings.HasPrefix(got.stdout, "/dev/pts/") {
			t.Errorf("got %+v, want the name of a terminal", got)
		}
	})
	t.Run("with curl", func(t *testing.T) {
		got := n.curl("/v1/namespaces/default/pods/box/containers/main:run", "-d", `{"command": ["sh", "-c", "echo hello; exit 3"]}`)
		var reply struct {
			Stdout   string
			ExitCode int
		}
		got.into(n, &reply)
		if out, _ := base64.StdEncoding.DecodeString(reply.Stdout); string(out) != "hello\n" || reply.ExitCode != 3 {
			t.Errorf("got %s, want hello and code 3", got)
		}
	})
	t.Run("with grpcurl", func(t *testing.T) {
		start := n.jsonOf(map[string]any{"start": map[string]any{
			"namespace": "default", "name": "box", "container": "main", "command": []string{"sh", "-c", "exit 9"},
		}})
		if got := n.grpcurl("node.v1.ExecService/Exec", start); got.code != 0 || !strings.Contains(got.body, `"exitCode": 9`) {
			t.Errorf("got %s, want exit code 9", got)
		}
	})
	t.Run("on the kubelet's path", func(t *testing.T) {
		if got := n.curl("/run/default/box/main", "-X", "POST", "-d", "cmd=echo hello"); got.code != 200 || got.body != "hello\n" {
			t.Errorf("got %s, want 200 hello", got)
		}
	})
	t.Run("not if there is no such program, pod or container", func(t *testing.T) {
		for path, want := range map[string]int{"pods/box/containers/main": 400, "pods/box/containers/other": 404, "pods/nobody/containers/main": 404} {
			got := n.curl("/v1/namespaces/default/"+path+":run", "-d", `{"command": ["/no/such/program"]}`)
			if got.code != want {
				t.Errorf("%s: got %s, want %d", path, got, want)
			}
		}
	})
}
