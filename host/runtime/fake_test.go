package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

// TestMain is also the way into the programs that tests start: copies of the
// test's binary, told apart by their names.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "containerd":
		if os.Args[1] == "config" {
			fmt.Println("version = 2")
			return
		}
		if err := fakeContainerd(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "shim":
		io.Copy(io.Discard, os.Stdin)
	default:
		os.Exit(m.Run())
	}
}

// fakeNetwork is set up at once. It returns an event for each call of Keep while the node is its own.
type fakeNetwork struct {
	looked []bool // whether the node was still its own
	gone   chan struct{}
}

var _ Network = (*fakeNetwork)(nil)

func (*fakeNetwork) Checks(context.Context) []node.Check { return nil }
func (*fakeNetwork) SetUp(context.Context) error         { return nil }
func (*fakeNetwork) Clean(context.Context) error         { return nil }

func (n *fakeNetwork) Watch(context.Context) (<-chan struct{}, error) { return n.gone, nil }

func (n *fakeNetwork) Keep(_ context.Context, ours func() bool, _ func(context.Context) (map[string]bool, error)) ([]node.Event, error) {
	n.looked = append(n.looked, ours())
	if !ours() {
		return nil, nil
	}
	return []node.Event{{Reason: "Kept"}}, nil
}

// fakeContainerd is ready at once, unless a file beside its configuration says
// that it is broken, or doomed, once.
func fakeContainerd(config string) error {
	if _, err := os.Stat(filepath.Join(filepath.Dir(config), "broken")); err == nil {
		return errors.New("the fake is broken")
	}
	if os.Remove(filepath.Join(filepath.Dir(config), "doomed")) == nil {
		return unix.Kill(os.Getpid(), unix.SIGKILL)
	}
	text, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	socket := regexp.MustCompile(`address = "(.*\.sock)"`).FindSubmatch(text)
	os.Remove(string(socket[1]))
	listener, err := net.Listen("unix", string(socket[1]))
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(server, fakeRuntime{})
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, server.Stop)
	return server.Serve(listener)
}

type fakeRuntime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
}

func (fakeRuntime) Status(context.Context, *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	return &runtimeapi.StatusResponse{Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.RuntimeReady, Status: true}, {Type: runtimeapi.NetworkReady, Status: true},
	}}}, nil
}

// fake is a copy of the test's binary that waits for its end.
type fake struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.Closer
	ended bool
}

func startFake(t *testing.T, path string, args ...string) *fake {
	t.Helper()
	cmd := exec.Command(path, args...)
	stdin, err := cmd.StdinPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	f := &fake{t: t, cmd: cmd, stdin: stdin}
	t.Cleanup(f.end)
	return f
}

func (f *fake) end() {
	if f.ended {
		return
	}
	f.ended = true
	f.stdin.Close()
	if err := f.cmd.Wait(); err != nil {
		f.t.Errorf("wait for the fake: %v", err)
	}
}
