// Command apisync makes a node a member of a Kubernetes cluster. It is a client
// of two APIs, Kubernetes' and the node's, and may run on the node or elsewhere.
// All it does is in package member.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/client-go/tools/clientcmd"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/cmd/apisync/member"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

type options struct {
	kubeconfig, socket string
	verbose            bool
	member             member.Config
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := pflag.NewFlagSet("apisync", pflag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` that says how to reach the Kubernetes API server (required)")
	flags.StringVar(&o.socket, "socket", "/run/nodal/node.sock", "unix socket `path` of the node API")
	flags.BoolVar(&o.verbose, "verbose", false, "log each step")
	flags.StringVar(&o.member.NodeName, "node-name", "", "`name` of the Node object; the node's own name if empty")
	flags.BoolVar(&o.member.Register, "register-node", true, "make the Node object if it is not there")
	flags.StringToStringVar(&o.member.Labels, "node-labels", nil, "labels of the Node object beside the node's own")
	flags.StringVar(&o.member.ProviderID, "provider-id", "", "`id` by which the cloud knows the machine")
	flags.Int32Var(&o.member.KubeletPort, "kubelet-port", 10250, "TLS `port` of the node at which the API server finds it")
	flags.DurationVar(&o.member.Lease, "lease-duration", 40*time.Second, "how long the node counts as alive after a sign of life; it gives four in that time")
	flags.DurationVar(&o.member.StatusEvery, "node-status-update-frequency", 10*time.Second, "how often the node's status is made, and sent if it has changed")
	flags.DurationVar(&o.member.StatusAtMost, "node-status-report-frequency", 5*time.Minute, "how often it is sent though nothing has changed")
	flags.Float64Var(&o.member.EventsPerSecond, "event-qps", 50, "events that are told to the API server in a second; 0: no bound")
	flags.IntVar(&o.member.EventBurst, "event-burst", 100, "how many of them at once")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.kubeconfig == "" {
		return o, errors.New("--kubeconfig is missing: it says which cluster the node belongs to")
	}
	if o.member.StatusEvery <= 0 {
		return o, fmt.Errorf("--node-status-update-frequency %s: it has to be more than 0", o.member.StatusEvery)
	}
	if o.member.Lease < 4*time.Second {
		return o, fmt.Errorf("--lease-duration %s: it has to be at least 4s", o.member.Lease)
	}
	return o, nil
}

func run(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "apisync:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	if err := sync(ctx, o, log); err != nil && ctx.Err() == nil {
		log.Error("cannot go on", "err", err)
		return 1
	}
	return 0
}

func sync(ctx context.Context, o options, log *slog.Logger) error {
	api, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("read %s: %w", o.kubeconfig, err)
	}
	conn, err := grpc.NewClient("unix://"+strings.TrimPrefix(o.socket, "unix://"), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		return fmt.Errorf("reach the node: %w", err)
	}
	defer conn.Close()
	if o.member.NodeName == "" {
		info, err := nodev1.NewNodeServiceClient(conn).GetNode(ctx, &nodev1.GetNodeRequest{})
		if err != nil {
			return fmt.Errorf("ask the node for its name: %w", err)
		}
		o.member.NodeName = info.GetName()
	}
	return member.Run(ctx, o.member, api, conn, log)
}
