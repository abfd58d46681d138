// Command run is the example node behind `make run`: the kubelet that was just built, with its own
// container runtime, and one pod that answers. Ctrl-C ends the kubelet; the pod runs on, and the
// next `make run` adopts it. `make clean-node` (-clean) removes all of it.
//
// With -cluster it is the cluster of one node behind `make cluster`, and with -kubeadm that of two behind
// `make kubeadm`. Ctrl-C removes both.
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

	"nodal/test/agent"
)

func main() {
	var e example
	clean := flag.Bool("clean", false, "remove the example node")
	parts := flag.String("cluster", "", "join the node to a control plane with the programs in this `directory`")
	machines := flag.String("kubeadm", "", "make a cluster of two nodes with kubeadm and the programs in this `directory`")
	flag.StringVar(&e.kubelet, "kubelet", "bin/kubelet", "`path` of the binary to run")
	flag.StringVar(&e.dir, "dir", "/var/lib/nodal-example", "`directory` of the node")
	flag.Parse()
	e.out = os.Stdout
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	do := e.stayUp
	switch {
	case *clean:
		do = e.clean
	case *parts != "":
		do = cluster{e, *parts}.stayUp
	case *machines != "":
		do = twoNodes{e, *machines}.stayUp
	}
	if err := do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

// example is a node in a directory of its own.
type example struct {
	kubelet string
	dir     string
	out     io.Writer
}

func (e example) say(format string, args ...any) { fmt.Fprintf(e.out, format+"\n", args...) }

// stayUp runs the node until the context ends.
func (e example) stayUp(ctx context.Context) (err error) {
	a, err := e.bringUp(ctx)
	if err != nil {
		return err
	}
	if err := a.Stay(ctx); err != nil {
		return err
	}
	e.say("\nending the kubelet; the pod runs on. make run adopts it, make clean-node removes everything.")
	return a.Stop()
}

// bringUp starts the node and returns when the example pod answers.
func (e example) bringUp(ctx context.Context) (_ *agent.Agent, err error) {
	a, err := e.startNode(ctx)
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Stop())
		}
	}()
	if err != nil {
		return nil, err
	}
	conn, err := a.Dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	e.say("applying %s ...", manifest)
	page, err := startExample(ctx, conn)
	if err != nil {
		return nil, err
	}
	dashboard, err := a.Invite(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Fprint(e.out, guide(a, page, dashboard))
	return a, nil
}

// startNode starts the node and imports the example's image.
func (e example) startNode(ctx context.Context, flags ...string) (*agent.Agent, error) {
	a := agent.New(agent.Config{
		Binary: e.kubelet, Dir: e.dir, Socket: socketPath(e.dir), Flags: flags,
		Ports: agent.Ports{Secure: freeFrom(10250), Healthz: freeFrom(10248)},
	})
	e.say("starting the kubelet, which starts its container runtime ...")
	if err := a.Start(); err != nil {
		return a, err
	}
	if err := e.notePid(a); err != nil {
		return a, err
	}
	conn, err := a.Dial()
	if err != nil {
		return a, err
	}
	defer conn.Close()
	e.say("importing its image ...")
	return a, importImage(ctx, conn)
}

// socketPath returns the usual path, unless another node uses it.
func socketPath(dir string) string {
	const usual = "/run/nodal/node.sock"
	if _, err := os.Stat(usual); errors.Is(err, os.ErrNotExist) {
		return usual
	}
	return filepath.Join(dir, "n.sock")
}

// freeFrom returns the first free port among port, port+10 and so on. The last digit stays, so that
// two searches never find the same port.
func freeFrom(port int) int {
	for !agent.Free(port) {
		port += 10
	}
	return port
}
