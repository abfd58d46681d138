package membership

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"nodal/agent/config"
	"nodal/cluster/certificate"
	"nodal/cluster/member"
	"nodal/cluster/retry"
	"nodal/cluster/review"
	"nodal/server/auth"
	"nodal/server/metrics"
)

// Config holds the settings of a membership, and the node's facts that it needs.
type Config struct {
	NodeName  string
	Labels    map[string]string
	Addresses []string
	Port      int    // of the node's API
	CertDir   string // of certificates
	Cluster   config.Cluster
	Auth      config.Auth
	Version   string // of the agent
	Log       *slog.Logger
}

// Membership keeps the node in a cluster.
type Membership struct {
	config  Config
	api     *rest.Config // that the node had at its start; nil if it has to get a certificate first
	callers *callers
}

// New reads how to reach the API server, so that a faulty file stops the start.
func New(c Config) (*Membership, error) {
	if err := member.CheckLabels(c.Labels); err != nil {
		return nil, fmt.Errorf("--node-labels: %w", err)
	}
	m := &Membership{config: c, callers: &callers{nodeName: c.NodeName}}
	api, err := m.read()
	switch {
	case err == nil:
		m.api = api
	case c.Cluster.Bootstrap == "" && errors.Is(err, errNotValid):
		c.Log.Error("the client certificate has expired; pods keep running, but the node is cut off from the cluster "+
			"until it has a new one", "err", err)
	case c.Cluster.Bootstrap == "":
		return nil, err
	case !errors.Is(err, fs.ErrNotExist):
		c.Log.Warn("requesting a new client certificate from the cluster", "err", err)
	}
	return m, nil
}

var errNotValid = errors.New("the file holds no certificate that is valid now")

// read returns the client configuration for the API server. It fails if the certificate in it is not valid now.
func (m *Membership) read() (*rest.Config, error) {
	c := m.config.Cluster
	if _, err := os.Stat(c.Kubeconfig); err != nil {
		return nil, fmt.Errorf("read --kubeconfig: %w", err)
	}
	api, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read --kubeconfig %s: %w", c.Kubeconfig, err)
	}
	if _, renewable := certificate.Of(api); c.Rotate && !renewable {
		if err := certificate.ClientIn(m.config.CertDir).Adopt(api, time.Now()); err != nil {
			return nil, err
		}
	}
	if pair, ok := certificate.Of(api); ok {
		valid, err := pair.Valid(time.Now())
		if err != nil {
			return nil, err
		}
		if !valid {
			return nil, fmt.Errorf("read %s, which %s names: %w", pair.Path, c.Kubeconfig, errNotValid)
		}
	}
	api.QPS, api.Burst, api.UserAgent = c.QPS, c.Burst, "kubelet/"+m.config.Version
	if api.QPS == 0 {
		api.QPS = -1 // zero would mean the client's default
	}
	return api, nil
}

// Renewals holds the metrics of certificates: when they expire, and how often they are renewed.
type Renewals struct {
	Client  func(expires func() time.Time) metrics.Renewed
	Serving metrics.Renewed
}

// Node is the node, as its membership needs it.
type Node struct {
	API   grpc.ClientConnInterface // by which a member reaches the node like any other client
	Board member.Board
}

// Run keeps the node a member of its cluster until the context ends.
func (m *Membership) Run(ctx context.Context, self Node, renewals Renewals) error {
	err := m.run(ctx, self, renewals)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (m *Membership) run(ctx context.Context, self Node, renewals Renewals) error {
	api, err := m.bootstrap(ctx)
	if err != nil {
		return err
	}
	memory := review.Memory{
		Token: m.config.Auth.TokenTTL, Allowed: m.config.Auth.AllowedTTL, Denied: m.config.Auth.DeniedTTL,
	}
	reviewer, err := review.New(api, memory)
	if err != nil {
		return err
	}
	m.callers.reviewer.Store(reviewer)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return m.keepCertificate(ctx, api, renewals.Client) })
	group.Go(func() error { return m.keepServing(ctx, api, renewals.Serving) })
	group.Go(func() error { return m.join(ctx, api, self) })
	return group.Wait()
}

// bootstrap returns the client configuration for the API server. A node without a certificate requests one. Without a
// credential for that, it waits until the kubeconfig has a certificate.
func (m *Membership) bootstrap(ctx context.Context) (api *rest.Config, err error) {
	if m.api != nil {
		return m.api, nil
	}
	c := m.config
	if c.Cluster.Bootstrap == "" {
		retry.Until(ctx, c.Log, "the node is no member of its cluster", retry.Most, func(context.Context) (err error) {
			api, err = m.read()
			return err
		})
		return api, ctx.Err()
	}
	pair := certificate.ClientIn(c.CertDir)
	if err := certificate.Bootstrap(ctx, c.NodeName, c.Cluster.Bootstrap, c.Cluster.Kubeconfig, pair, c.Log); err != nil {
		return nil, err
	}
	return m.read()
}

// to returns a certificate.Way that always yields the same client configuration.
func to(api *rest.Config) certificate.Way {
	return func() (*rest.Config, error) { return api, nil }
}

// keepCertificate renews the node's client certificate.
func (m *Membership) keepCertificate(
	ctx context.Context, api *rest.Config, counted func(func() time.Time) metrics.Renewed,
) error {
	c := m.config
	if !c.Cluster.Rotate {
		return nil
	}
	pair, ok := certificate.Of(api)
	if !ok {
		c.Log.Warn("rotateCertificates has no effect: the kubeconfig holds no client certificate",
			"kubeconfig", c.Cluster.Kubeconfig)
		return nil
	}
	return certificate.Keeper{
		Wanted: certificate.Wanted{NodeName: c.NodeName}, Way: to(api).Or(pair, c.Cluster.Bootstrap),
		Pair: pair, Log: c.Log, Tell: counted(pair.Expires),
	}.Run(ctx)
}

// keepServing renews the serving certificate that the cluster issues.
func (m *Membership) keepServing(ctx context.Context, api *rest.Config, renewed metrics.Renewed) error {
	c := m.config
	if !c.Auth.Serving {
		return nil
	}
	return certificate.Keeper{
		Wanted: certificate.Wanted{NodeName: c.NodeName, Hosts: append([]string{c.NodeName}, c.Addresses...)},
		Way:    to(api), Pair: certificate.ServingIn(c.CertDir), Log: c.Log, Tell: renewed,
	}.Run(ctx)
}

// Guard has the guard of the node's API ask the cluster, as far as the settings allow.
func (m *Membership) Guard(c *auth.Config) {
	if m.config.Auth.Tokens {
		c.Tokens = m.callers
	}
	if m.config.Auth.Mode == config.AuthWebhook {
		c.Access = m.callers
	}
	if m.config.Auth.Serving {
		c.ServingFile = certificate.ServingIn(m.config.CertDir).Path
	}
}

// join runs the cluster's member over a connection to the node's API.
func (m *Membership) join(ctx context.Context, api *rest.Config, self Node) error {
	c := m.config.Cluster
	ctx = auth.NewContext(ctx, auth.Identity{Name: "cluster", Role: auth.RoleAdmin, Via: auth.ViaProcess})
	return member.Run(ctx, member.Config{
		NodeName: m.config.NodeName, Register: c.Register, Taints: c.Taints, ProviderID: c.ProviderID,
		ExternalCloud: c.ExternalCloud, GivenIPs: c.GivenIPs, MaxImages: c.MaxImages, KubeletPort: int32(m.config.Port),
		Lease: c.Lease, StatusEvery: c.StatusEvery, StatusAtMost: c.StatusAtMost,
		EventsPerSecond: c.EventQPS, EventBurst: c.EventBurst,
		Board: self.Board,
	}, api, self.API, m.config.Log)
}
