// Command apisync makes a node a member of a Kubernetes cluster or, without one,
// of a fleet that is written down in etcd. It is a client of two APIs, that of
// those and the node's, and may run on the node or elsewhere. What it does is in
// packages member and fleet.
package main

import (
	"context"
	"crypto/tls"
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
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	grpcstatus "google.golang.org/grpc/status"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/cluster/member"
	"nodal/cluster/retry"
	"nodal/fleet"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

type options struct {
	kubeconfig     string
	socket, server string // of the node; at most one of them
	node           transport.TLSConfig
	verbose        bool
	member         member.Config
	fleet          fleet.Config
	etcd           transport.TLSConfig
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := pflag.NewFlagSet("apisync", pflag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` that says how to reach the Kubernetes API server")
	flags.StringSliceVar(&o.fleet.Servers, "etcd-servers", nil, "`URLs` of etcd, in place of a cluster: the node runs what is written there")
	flags.StringVar(&o.fleet.Prefix, "etcd-prefix", "/nodal/{node}", "keys of this node: manifests of pods in `prefix`/pods/NAME, and what became of them in prefix/status/NAME")
	flags.StringVar(&o.etcd.CAFile, "etcd-cafile", "", "`file` of the authorities that etcd's certificate may come from")
	flags.StringVar(&o.etcd.CertFile, "etcd-certfile", "", "`file` of the certificate to show to etcd")
	flags.StringVar(&o.etcd.KeyFile, "etcd-keyfile", "", "`file` of its key")
	flags.StringVar(&o.socket, "socket", "/run/nodal/node.sock", "unix socket `path` of the node API")
	flags.StringVar(&o.server, "node-server", "", "`address` of a node elsewhere, such as 10.0.0.7:10250, in place of the socket")
	flags.StringVar(&o.node.CAFile, "node-cafile", "", "`file` of the authorities that its certificate may come from")
	flags.StringVar(&o.node.CertFile, "node-certfile", "", "`file` of the certificate to show to it, of an admin")
	flags.StringVar(&o.node.KeyFile, "node-keyfile", "", "`file` of its key")
	flags.BoolVar(&o.verbose, "verbose", false, "log each step")
	flags.StringVar(&o.member.NodeName, "node-name", "", "`name` of the Node object; the node's own name if empty")
	flags.BoolVar(&o.member.Register, "register-node", true, "make the Node object if it is not there")
	flags.StringToStringVar(&o.member.Labels, "node-labels", nil, "labels of the Node object beside the node's own")
	flags.StringVar(&o.member.ProviderID, "provider-id", "", "`id` by which the cloud knows the machine")
	flags.IntVar(&o.member.MaxImages, "node-status-max-images", 50, "how many images the Node object names, the largest; -1: all")
	flags.Int32Var(&o.member.KubeletPort, "kubelet-port", 10250, "TLS `port` of the node at which the API server finds it")
	flags.DurationVar(&o.member.Lease, "lease-duration", 40*time.Second, "how long the node counts as alive after a sign of life; it gives four in that time")
	flags.DurationVar(&o.member.StatusEvery, "node-status-update-frequency", 10*time.Second, "how often the node's status is made, and sent if it has changed")
	flags.DurationVar(&o.member.StatusAtMost, "node-status-report-frequency", 5*time.Minute, "how often it is sent though nothing has changed")
	flags.Float64Var(&o.member.EventsPerSecond, "event-qps", 50, "events that are told to the API server in a second; 0: no bound")
	flags.IntVar(&o.member.EventBurst, "event-burst", 100, "how many of them at once")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if (o.kubeconfig == "") == (len(o.fleet.Servers) == 0) {
		return o, errors.New("give either --kubeconfig, which says what cluster the node belongs to, or --etcd-servers")
	}
	if o.server != "" && flags.Changed("socket") {
		return o, errors.New("give either --socket or --node-server")
	}
	if o.server != "" && (o.node.CertFile == "" || o.node.KeyFile == "") {
		return o, errors.New("--node-server needs --node-certfile and --node-keyfile, by which the node knows apisync")
	}
	if err := member.CheckLabels(o.member.Labels); err != nil {
		return o, fmt.Errorf("--node-labels: %w", err)
	}
	if o.member.StatusEvery <= 0 {
		return o, fmt.Errorf("--node-status-update-frequency %s: must be greater than 0", o.member.StatusEvery)
	}
	if o.member.Lease < 4*time.Second {
		return o, fmt.Errorf("--lease-duration %s: must be at least 4s", o.member.Lease)
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
		log.Error("stopped", "err", err)
		return 1
	}
	return 0
}

func sync(ctx context.Context, o options, log *slog.Logger) error {
	conn, err := dial(o)
	if err != nil {
		return fmt.Errorf("reach the node: %w", err)
	}
	defer conn.Close()
	go complain(ctx, conn, log)
	if o.member.NodeName == "" {
		info, err := nodev1.NewNodeServiceClient(conn).GetNode(ctx, &nodev1.GetNodeRequest{})
		if err != nil {
			return fmt.Errorf("ask the node for its name: %w", err)
		}
		o.member.NodeName = info.GetName()
	}
	if len(o.fleet.Servers) > 0 {
		return runFleet(ctx, o, conn, log)
	}
	api, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("read %s: %w", o.kubeconfig, err)
	}
	return member.Run(ctx, o.member, api, conn, log)
}

// complain logs why the node does not answer, once for each reason, and that
// it is back: all other calls wait for the node, and hide the reason.
func complain(ctx context.Context, conn *grpc.ClientConn, log *slog.Logger) {
	said := ""
	for ctx.Err() == nil {
		conn.Connect()
		state := conn.GetState()
		switch state {
		case connectivity.Ready:
			if said != "" {
				log.Info("the node answers again")
			}
			said = ""
		case connectivity.TransientFailure:
			if why := reason(ctx, conn); why != "" && why != said {
				log.Warn("the node does not answer", "err", why)
				said = why
			}
		}
		if state != connectivity.TransientFailure {
			conn.WaitForStateChange(ctx, state)
			continue
		}
		change, cancel := context.WithTimeout(ctx, retry.Most) // a new reason is no new state
		conn.WaitForStateChange(change, state)
		cancel()
	}
}

// reason returns why a connection is not ready; empty if it is.
func reason(ctx context.Context, conn *grpc.ClientConn) string {
	_, err := nodev1.NewNodeServiceClient(conn).GetNode(ctx, &nodev1.GetNodeRequest{}, grpc.WaitForReady(false))
	if grpcstatus.Code(err) != codes.Unavailable || ctx.Err() != nil {
		return ""
	}
	return grpcstatus.Convert(err).Message()
}

// silence is after how long a node elsewhere is asked whether it is still there.
const silence = 20 * time.Second

// largest is more than a node holds of what pods use, which comes in one list.
const largest = 1 << 30

// dial reaches the node: over its socket, or by a certificate that it knows.
func dial(o options) (*grpc.ClientConn, error) {
	patient := grpc.WithDefaultCallOptions(grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(largest))
	if o.server == "" {
		return grpc.NewClient("unix://"+strings.TrimPrefix(o.socket, "unix://"), grpc.WithTransportCredentials(insecure.NewCredentials()), patient)
	}
	secure, err := transport.TLSConfigFor(&transport.Config{TLS: o.node})
	if err != nil {
		return nil, fmt.Errorf("read the TLS files for it: %w", err)
	}
	secure.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(o.node.CertFile, o.node.KeyFile) // the node replaces it before it runs out
		return &pair, err
	}
	return grpc.NewClient(o.server, grpc.WithTransportCredentials(credentials.NewTLS(secure)), patient,
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: silence, Timeout: silence}))
}

func runFleet(ctx context.Context, o options, conn *grpc.ClientConn, log *slog.Logger) error {
	secure, err := transport.TLSConfigFor(&transport.Config{TLS: o.etcd})
	if err != nil {
		return fmt.Errorf("read the TLS files for etcd: %w", err)
	}
	if secure == nil && strings.HasPrefix(o.fleet.Servers[0], "https:") {
		secure = &tls.Config{} // by the authorities that the machine trusts
	}
	o.fleet.TLS = secure
	o.fleet.Prefix = strings.ReplaceAll(o.fleet.Prefix, "{node}", o.member.NodeName)
	return fleet.Run(ctx, o.fleet, conn, log)
}
