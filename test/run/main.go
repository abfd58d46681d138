// Command run is the example node behind `make run`: a private containerd, the
// kubelet that was just built, and one pod that answers. Ctrl-C takes all of it
// away again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"nodal/test/agent"
	"nodal/test/rig"
)

func main() {
	once := flag.Bool("once", false, "show that the node works, then take it away")
	kubelet := flag.String("kubelet", "bin/kubelet", "`path` of the binary to run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubelet, *once, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

// run keeps the example node up until the context ends; once, until it was seen.
func run(ctx context.Context, kubelet string, once bool, out io.Writer) (err error) {
	say := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	say("starting a private containerd ...")
	rt, err := rig.New()
	if err != nil {
		return err
	}
	defer func() {
		say("taking everything away ...")
		err = errors.Join(err, rt.Remove())
	}()
	a := agent.New(agent.Config{
		Binary: kubelet, Dir: filepath.Join(rt.Dir, "node"), Socket: socketPath(rt.Dir), Endpoint: rt.Endpoint, CgroupParent: rt.CgroupParent,
		Ports: agent.Ports{Secure: freeFrom(10250), Healthz: freeFrom(10248)},
	})
	say("starting the kubelet ...")
	if err := a.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Stop()) }()
	conn, err := grpc.NewClient("unix://"+a.Socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connect to the node: %w", err)
	}
	defer conn.Close()
	say("applying %s ...", manifest)
	page, err := startExample(ctx, conn)
	if err != nil {
		return err
	}
	fmt.Fprint(out, guide(a, rt.LogPath, page))
	if !once {
		if err := stayUp(ctx, a); err != nil {
			return err
		}
	}
	say("deleting the pods ...")
	return removePods(conn)
}

// stayUp returns when the context ends, or fails when the kubelet does.
func stayUp(ctx context.Context, a *agent.Agent) error {
	code, err := a.Wait(ctx)
	if err != nil {
		return nil // Ctrl-C: the kubelet did not end
	}
	return fmt.Errorf("the kubelet ended by itself with code %d:\n%s", code, a.LogTail())
}

// socketPath is the usual one, unless a node uses it already.
func socketPath(fallback string) string {
	const usual = "/run/nodal/node.sock"
	if _, err := os.Stat(usual); errors.Is(err, os.ErrNotExist) {
		return usual
	}
	return filepath.Join(fallback, "n.sock")
}

// freeFrom is the first free port from one on. The last digit stays, so two
// searches never end at the same port.
func freeFrom(port int) int {
	for !agent.Free(port) {
		port += 10
	}
	return port
}
