// Command apisync makes a node a member of a Kubernetes cluster, or of a fleet whose pods stand in etcd. It is a client
// of two APIs: the node's, and that of the cluster or of etcd. It may run on the node or elsewhere. Packages member and
// fleet do the work.
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

// parse reads the command line.
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := pflag.NewFlagSet("apisync", pflag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file` for the Kubernetes API server")
	flags.StringSliceVar(&o.fleet.Servers, "etcd-servers", nil, "`URLs` of etcd, instead of a cluster: the node runs the pods that stand there")
	flags.StringVar(&o.fleet.Prefix, "etcd-prefix", "/nodal/{node}", "`prefix` of this node's keys: pod manifests in prefix/pods/NAME, the pods as they run in prefix/status/NAME")
	flags.StringVar(&o.fleet.Members, "etcd-members", "/nodal-members", "`prefix` of the records of all nodes of the fleet, for kubelet fleet status; this one's is below prefix/NODE")
	flags.StringVar(&o.etcd.CAFile, "etcd-cafile", "", "`file` of the CA certificates for etcd's certificate")
	flags.StringVar(&o.etcd.CertFile, "etcd-certfile", "", "client certificate `file` for etcd")
	flags.StringVar(&o.etcd.KeyFile, "etcd-keyfile", "", "key `file` of --etcd-certfile")
	flags.StringVar(&o.socket, "socket", "/run/nodal/node.sock", "unix socket `path` of the node API")
	flags.StringVar(&o.server, "node-server", "", "`address` of a node elsewhere, such as 10.0.0.7:10250, instead of --socket")
	flags.StringVar(&o.node.CAFile, "node-cafile", "", "`file` of the CA certificates for the node's certificate")
	flags.StringVar(&o.node.CertFile, "node-certfile", "", "client certificate `file` of an admin of the node")
	flags.StringVar(&o.node.KeyFile, "node-keyfile", "", "key `file` of --node-certfile")
	flags.BoolVar(&o.verbose, "verbose", false, "log each step")
	flags.StringVar(&o.member.NodeName, "node-name", "", "`name` of the Node object (default: the node's own name)")
	flags.BoolVar(&o.member.Register, "register-node", true, "create the Node object if it does not exist")
	flags.StringToStringVar(&o.member.Labels, "node-labels", nil, "`labels` of the Node object in addition to the node's own, key=value joined by commas")
	flags.StringVar(&o.member.ProviderID, "provider-id", "", "`id` of the machine at its cloud provider")
	flags.IntVar(&o.member.MaxImages, "node-status-max-images", 50, "`number` of images that the Node object lists, largest first; -1 for all")
	flags.Int32Var(&o.member.KubeletPort, "kubelet-port", 10250, "TLS `port` of the node, for the API server")
	flags.DurationVar(&o.member.Lease, "lease-duration", 40*time.Second, "time after which the cluster considers a silent node lost; the lease is renewed four times in it")
	flags.DurationVar(&o.member.StatusEvery, "node-status-update-frequency", 10*time.Second, "interval between computations of the node's status; a changed status is sent")
	flags.DurationVar(&o.member.StatusAtMost, "node-status-report-frequency", 5*time.Minute, "interval between reports of an unchanged status")
	flags.Float64Var(&o.member.EventsPerSecond, "event-qps", 50, "events per second to the API server; 0 for no limit")
	flags.IntVar(&o.member.EventBurst, "event-burst", 100, "`number` of events that may exceed --event-qps in a burst")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if (o.kubeconfig == "") == (len(o.fleet.Servers) == 0) {
		return o, errors.New("want either --kubeconfig, for a cluster, or --etcd-servers")
	}
	if o.server != "" && flags.Changed("socket") {
		return o, errors.New("want either --socket or --node-server")
	}
	if o.server != "" && (o.node.CertFile == "" || o.node.KeyFile == "") {
		return o, errors.New("--node-server needs --node-certfile and --node-keyfile")
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

// sync runs the member or the fleet until the context ends.
func sync(ctx context.Context, o options, log *slog.Logger) error {
	conn, err := dial(o)
	if err != nil {
		return fmt.Errorf("reach the node: %w", err)
	}
	defer conn.Close()
	go logOutages(ctx, conn, log)
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

// logOutages logs why the node does not answer, once for each reason, and when it answers again. All other calls wait
// for the node and hide the reason.
func logOutages(ctx context.Context, conn *grpc.ClientConn, log *slog.Logger) {
	logged := ""
	for ctx.Err() == nil {
		conn.Connect()
		state := conn.GetState()
		switch state {
		case connectivity.Ready:
			if logged != "" {
				log.Info("the node answers again")
			}
			logged = ""
		case connectivity.TransientFailure:
			if why := reason(ctx, conn); why != "" && why != logged {
				log.Warn("the node does not answer", "err", why)
				logged = why
			}
		}
		if state != connectivity.TransientFailure {
			conn.WaitForStateChange(ctx, state)
			continue
		}
		change, cancel := context.WithTimeout(ctx, retry.Most) // the reason may change without the state
		conn.WaitForStateChange(change, state)
		cancel()
	}
}

// reason returns why a connection is not ready. It is empty if the node answers.
func reason(ctx context.Context, conn *grpc.ClientConn) string {
	_, err := nodev1.NewNodeServiceClient(conn).GetNode(ctx, &nodev1.GetNodeRequest{}, grpc.WaitForReady(false))
	if grpcstatus.Code(err) != codes.Unavailable || ctx.Err() != nil {
		return ""
	}
	return grpcstatus.Convert(err).Message()
}

// silence is the time after which a silent connection is probed, and after which an unanswered probe ends it.
const silence = 20 * time.Second

// maxReply bounds a reply. A node lists all objects of a kind in one, which take less.
const maxReply = 1 << 30

// dial returns a connection to the node: over its socket, or over TLS with a client certificate.
func dial(o options) (*grpc.ClientConn, error) {
	patient := grpc.WithDefaultCallOptions(grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(maxReply))
	if o.server == "" {
		return grpc.NewClient("unix://"+strings.TrimPrefix(o.socket, "unix://"), grpc.WithTransportCredentials(insecure.NewCredentials()), patient)
	}
	secure, err := transport.TLSConfigFor(&transport.Config{TLS: o.node})
	if err != nil {
		return nil, fmt.Errorf("read the TLS files for the node: %w", err)
	}
	secure.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(o.node.CertFile, o.node.KeyFile) // read again each time: the node renews it
		return &pair, err
	}
	return grpc.NewClient(o.server, grpc.WithTransportCredentials(credentials.NewTLS(secure)), patient,
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: silence, Timeout: silence}))
}

// runFleet has the node run the pods in etcd.
func runFleet(ctx context.Context, o options, conn *grpc.ClientConn, log *slog.Logger) error {
	secure, err := fleet.TLS(o.fleet.Servers, o.etcd)
	if err != nil {
		return err
	}
	o.fleet.TLS = secure
	o.fleet.Node = o.member.NodeName
	o.fleet.Prefix = strings.ReplaceAll(o.fleet.Prefix, "{node}", o.member.NodeName)
	return fleet.Run(ctx, o.fleet, conn, log)
}
