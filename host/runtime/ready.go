package runtime

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	readyWait = 60 * time.Second
	readyPoll = 2 * time.Millisecond
)

// errKilled means that containerd did not end by itself, so that another start may succeed.
var errKilled = errors.New("it was killed")

// waitReady returns when the runtime can make pods, or with the reason why it cannot. It asks often, because every pod
// of the machine waits for this.
func waitReady(ctx context.Context, endpoint string, d *daemon) error {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	soon := backoff.Config{BaseDelay: readyPoll, Multiplier: 1.1, MaxDelay: 10 * readyPoll}
	conn, err := grpc.NewClient(endpoint,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: soon, MinConnectTimeout: time.Second}))
	if err != nil {
		return fmt.Errorf("set up connection to containerd: %w", err)
	}
	defer conn.Close()
	client := runtimeapi.NewRuntimeServiceClient(conn)
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		err := askReady(ctx, client)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-d.done:
			if d.killed {
				return fmt.Errorf("containerd did not come up: %s: %w", d.ended, errKilled)
			}
			return fmt.Errorf("containerd did not come up: %s", d.ended)
		case <-ctx.Done():
			return fmt.Errorf("wait for containerd: %w (last: %w)", context.Cause(ctx), err)
		}
	}
}

func askReady(ctx context.Context, client runtimeapi.RuntimeServiceClient) error {
	status, err := client.Status(ctx, &runtimeapi.StatusRequest{})
	if err != nil {
		return err
	}
	for _, want := range []string{runtimeapi.RuntimeReady, runtimeapi.NetworkReady} {
		if err := condition(status.Status.GetConditions(), want); err != nil {
			return err
		}
	}
	return nil
}

func condition(all []*runtimeapi.RuntimeCondition, name string) error {
	for _, c := range all {
		if c.Type == name && c.Status {
			return nil
		}
		if c.Type == name {
			return fmt.Errorf("%s is false: %s: %s", name, c.Reason, c.Message)
		}
	}
	return fmt.Errorf("containerd does not report %s", name)
}

// sandboxWait limits how long the runtime may take to list its sandboxes.
const sandboxWait = 10 * time.Second

// Sandboxes lists the runtime's sandboxes, and whether each is ready.
func (r *Runtime) Sandboxes(ctx context.Context) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, sandboxWait)
	defer cancel()
	conn, err := grpc.NewClient(r.Endpoint(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("set up connection to containerd: %w", err)
	}
	defer conn.Close()
	list, err := runtimeapi.NewRuntimeServiceClient(conn).ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return nil, fmt.Errorf("list sandboxes: %w", err)
	}
	ready := map[string]bool{}
	for _, s := range list.GetItems() {
		ready[s.GetId()] = s.GetState() == runtimeapi.PodSandboxState_SANDBOX_READY
	}
	return ready, nil
}

// networkWait limits how long containerd may take to read the description of the network.
const networkWait = 10 * time.Second

// AwaitSubnets returns when containerd has read a description of the network with these subnets.
func (r *Runtime) AwaitSubnets(ctx context.Context, subnets []netip.Prefix) error {
	ctx, cancel := context.WithTimeout(ctx, networkWait)
	defer cancel()
	conn, err := grpc.NewClient(r.Endpoint(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("set up connection to containerd: %w", err)
	}
	defer conn.Close()
	client := runtimeapi.NewRuntimeServiceClient(conn)
	tick := time.NewTicker(10 * readyPoll)
	defer tick.Stop()
	for {
		status, err := client.Status(ctx, &runtimeapi.StatusRequest{Verbose: true})
		if err == nil && describes(status.GetInfo()["cniconfig"], subnets) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("containerd has not read the network of %v", subnets), err)
		}
	}
}

// describes reports whether a description of the network, which holds JSON as a text, names all these subnets.
func describes(network string, subnets []netip.Prefix) bool {
	return !slices.ContainsFunc(subnets, func(s netip.Prefix) bool {
		return !strings.Contains(network, `"`+s.String()+`\"`) && !strings.Contains(network, `"`+s.String()+`"`)
	})
}

// lastWords returns the end of containerd's log: only the log says why it ended.
func lastWords(path string) string {
	const enough = 2048
	log, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return ""
	}
	tail := make([]byte, min(enough, info.Size()))
	n, _ := log.ReadAt(tail, info.Size()-int64(len(tail))) // a shorter tail is as good
	lines := strings.Split(strings.TrimSpace(string(tail[:n])), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "\n")
}
