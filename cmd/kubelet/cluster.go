package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// membership is the node's part in a cluster. A nil one stands alone.
type membership struct {
	*agent
	api     *rest.Config // nil: the way to the API server has to be asked for first
	callers *callers
}

// membership reads the way to the API server. What is wrong with the file is said
// at the start, and not when the server is asked.
func (a *agent) membership() (*membership, error) {
	c := a.cfg.Cluster
	if c.Kubeconfig == "" {
		return nil, nil
	}
	if err := member.CheckLabels(a.cfg.NodeLabels); err != nil {
		return nil, fmt.Errorf("--node-labels: %w", err)
	}
	m := &membership{agent: a, callers: &callers{nodeName: a.cfg.NodeName}}
	api, err := m.read()
	switch {
	case err == nil:
		m.api = api
	case c.Bootstrap == "" && errors.Is(err, errNotValid):
		a.log.Error("the node is no member of its cluster until it has another certificate; its pods run on", "err", err)
	case c.Bootstrap == "":
		return nil, err
	case !errors.Is(err, fs.ErrNotExist):
		a.log.Warn("the node asks the cluster for a certificate anew", "err", err)
	}
	return m, nil
}

var errNotValid = errors.New("it holds no certificate that is valid now")

// read fails if there is a certificate that the API server would not take.
func (m *membership) read() (*rest.Config, error) {
	c := m.cfg.Cluster
	if _, err := os.Stat(c.Kubeconfig); err != nil {
		return nil, fmt.Errorf("read the way to the API server: %w", err)
	}
	api, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the way to the API server from %s: %w", c.Kubeconfig, err)
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
	api.QPS, api.Burst, api.UserAgent = c.QPS, c.Burst, "kubelet/"+version
	if api.QPS == 0 {
		api.QPS = -1 // to the client zero is its own default
	}
	return api, nil
}

// run makes the node a member of its cluster until the context ends. It does what
// apisync does beside a node, and knows no more of this one.
func (m *membership) run(ctx context.Context, conn grpc.ClientConnInterface, serving metrics.Renewed) error {
	if m == nil {
		return nil
	}
	err := m.bootstrap(ctx)
	if err == nil {
		err = m.answer()
	}
	if err == nil {
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return m.keepCertificate(ctx) })
		group.Go(func() error { return m.keepServing(ctx, serving) })
		group.Go(func() error { return m.join(ctx, conn) })
		err = group.Wait()
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// bootstrap asks the cluster for a certificate, if the node has none. Without a
// credential for that it waits for somebody to bring one.
func (m *membership) bootstrap(ctx context.Context) (err error) {
	if m.api != nil {
		return nil
	}
	c := m.cfg.Cluster
	if c.Bootstrap == "" {
		retry.Until(ctx, m.log, "the node is no member of its cluster", retry.Most, func(context.Context) (err error) {
			m.api, err = m.read()
			return err
		})
		return ctx.Err()
	}
	if err := certificate.Bootstrap(ctx, m.cfg.NodeName, c.Bootstrap, c.Kubeconfig, certificate.ClientIn(m.cfg.Dirs.Cert), m.log); err != nil {
		return err
	}
	m.api, err = m.read()
	return err
}

func (m *membership) way() certificate.Way {
	return func() (*rest.Config, error) { return m.api, nil }
}

// keepCertificate looks after the certificate for as long as the context lasts.
func (m *membership) keepCertificate(ctx context.Context) error {
	if !m.cfg.Cluster.Rotate {
		return nil
	}
	pair, ok := certificate.Of(m.api)
	if !ok {
		m.log.Warn("the client certificate is not replaced when it runs out: it is not in one file with its key", "kubeconfig", m.cfg.Cluster.Kubeconfig)
		return nil
	}
	return certificate.Keeper{
		Wanted: certificate.Wanted{NodeName: m.cfg.NodeName}, Way: m.way().Or(pair, m.cfg.Cluster.Bootstrap), Pair: pair, Log: m.log,
		Tell: m.counts.ClientCertificate(pair.Expires),
	}.Run(ctx)
}

// keepServing looks after the certificate that the cluster knows the node's server
// by.
func (m *membership) keepServing(ctx context.Context, renewed metrics.Renewed) error {
	if !m.cfg.Auth.Serving {
		return nil
	}
	wanted := certificate.Wanted{NodeName: m.cfg.NodeName, Hosts: append([]string{m.cfg.NodeName}, m.machine.ips...)}
	return certificate.Keeper{Wanted: wanted, Way: m.way(), Pair: certificate.ServingIn(m.cfg.Dirs.Cert), Log: m.log, Tell: renewed}.Run(ctx)
}

// guards has the guard of the node's API ask the cluster, as far as it is to.
func (m *membership) guards(c *auth.Config) {
	if m == nil {
		return
	}
	if m.cfg.Auth.Tokens {
		c.Tokens = m.callers
	}
	if m.cfg.Auth.Mode == config.AuthWebhook {
		c.Access = m.callers
	}
	if m.cfg.Auth.Serving {
		c.ServingFile = certificate.ServingIn(m.cfg.Dirs.Cert).Path
	}
}

// answer lets the guard ask.
func (m *membership) answer() error {
	a := m.cfg.Auth
	reviewer, err := review.New(m.api, review.Memory{Token: a.TokenTTL, Allowed: a.AllowedTTL, Denied: a.DeniedTTL})
	if err == nil {
		m.callers.reviewer.Store(reviewer)
	}
	return err
}

func (m *membership) join(ctx context.Context, conn grpc.ClientConnInterface) error {
	c := m.cfg.Cluster
	return member.Run(auth.NewContext(ctx, auth.Identity{Name: "cluster", Role: auth.RoleAdmin, Via: "process"}), member.Config{
		NodeName: m.cfg.NodeName, Register: c.Register, Taints: c.Taints, ProviderID: c.ProviderID, ExternalCloud: c.ExternalCloud, MaxImages: c.MaxImages,
		KubeletPort: int32(m.cfg.Listen.Port), Lease: c.Lease, StatusEvery: c.StatusEvery, StatusAtMost: c.StatusAtMost,
		EventsPerSecond: c.EventQPS, EventBurst: c.EventBurst,
	}, m.api, conn, m.log)
}
