// Command run is the example node behind `make run`: a private containerd, the
// kubelet that was just built, and one pod that answers. Ctrl-C takes all of it
// away again.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/agent"
	"nodal/test/rig"
)

const (
	manifest = "docs/examples/web.yaml"
	patience = time.Minute
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
	say("applying %s ...", manifest)
	page, err := startExample(ctx, a.Socket)
	if err != nil {
		return err
	}
	fmt.Fprint(out, guide(a, page))
	if !once {
		<-ctx.Done()
	}
	return nil
}

// startExample posts the example pod and waits until it answers at its address.
func startExample(ctx context.Context, socket string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return "", fmt.Errorf("connect to the node: %w", err)
	}
	defer conn.Close()
	text, err := os.ReadFile(manifest)
	if err != nil {
		return "", fmt.Errorf("read the example: %w", err)
	}
	applied, err := nodev1.NewManifestsServiceClient(conn).Apply(ctx, &nodev1.ApplyRequest{Manifest: string(text)})
	if err != nil {
		return "", fmt.Errorf("apply the example: %w", err)
	}
	pod, err := awaitReady(ctx, nodev1.NewPodsServiceClient(conn), applied.GetOutcomes()[0])
	if err != nil {
		return "", err
	}
	page := "http://" + pod.GetPodIps()[0] + ":8080/"
	return page, awaitAnswer(ctx, page)
}

func awaitReady(ctx context.Context, pods nodev1.PodsServiceClient, example *nodev1.Outcome) (*nodev1.Pod, error) {
	watch, err := pods.WatchPods(ctx, &nodev1.WatchPodsRequest{Namespace: example.GetNamespace()})
	if err != nil {
		return nil, fmt.Errorf("watch the example: %w", err)
	}
	var last *nodev1.Pod
	for {
		message, err := watch.Recv()
		if err != nil {
			return nil, fmt.Errorf("wait for the example, which is %s %s: %w", last.GetReason(), last.GetMessage(), err)
		}
		if pod := message.GetPod(); pod.GetName() == example.GetName() {
			last = pod
		}
		if last.GetReady() && len(last.GetPodIps()) > 0 {
			return last, nil
		}
	}
}

// awaitAnswer waits until the program in the container listens.
func awaitAnswer(ctx context.Context, page string) error {
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			return fmt.Errorf("ask %s: %w", page, err)
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			return response.Body.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("ask %s: %w", page, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// guide tells how to reach what was brought up.
func guide(a *agent.Agent, page string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, `
The node runs, and so does its example pod:

  curl %[1]s

curl on the socket, as root and without a token:

  curl --unix-socket %[2]s http://node/v1/pods
  curl --unix-socket %[2]s http://node/v1/manifests --data-binary @docs/examples/web.yaml
  curl --unix-socket %[2]s http://node/v1/namespaces/default/pods/web/timeline

curl on the TLS port:

  curl --cacert %[3]s -H "Authorization: Bearer $(cat %[4]s)" https://127.0.0.1:%[5]d/v1/node

grpcurl:

  go tool -modfile=test/tools/go.mod grpcurl -plaintext -unix %[2]s list
  go tool -modfile=test/tools/go.mod grpcurl -plaintext -unix %[2]s node.v1.PodsService/ListPods

Everything lies in %[6]s. Ctrl-C ends the node and removes it.
`, page, a.Socket, a.CA(), a.Credential("admin.token"), a.Ports.Secure, a.Dir)
	return b.String()
}

// socketPath is the usual one, unless a node uses it already.
func socketPath(fallback string) string {
	const usual = "/run/nodal/node.sock"
	if _, err := os.Stat(usual); errors.Is(err, os.ErrNotExist) {
		return usual
	}
	return filepath.Join(fallback, "n.sock")
}

// freeFrom is the first free port from one on.
func freeFrom(port int) int {
	for !agent.Free(port) {
		port++
	}
	return port
}
