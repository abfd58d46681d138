package agent

import (
	"context"
	"log/slog"
	"time"

	"nodal/agent/config"
	"nodal/server/auth"
	"nodal/server/metrics"
)

// identity makes and renews the certificates that the node proves itself with.
type identity struct {
	dirs  auth.Dirs
	hosts []string
	log   *slog.Logger
}

// identityOf returns the identity of a node by its names and addresses.
func identityOf(cfg *config.Config, addresses []string, log *slog.Logger) identity {
	return identity{
		dirs:  auth.Dirs{Root: cfg.Dirs.Root, Cert: cfg.Dirs.Cert},
		hosts: append([]string{cfg.Node.Name, "localhost", "127.0.0.1", "::1"}, addresses...),
		log:   log,
	}
}

// newGuard makes the node's identity, at its first start, and the guard of its API.
func newGuard(o Options, f facts) (*auth.Authenticator, error) {
	cfg, id := o.Config, identityOf(o.Config, f.addresses, o.Log)
	material, err := auth.Bootstrap(id.dirs, id.hosts, time.Now())
	if err != nil {
		return nil, err
	}
	if cfg.Auth.TLSCertFile != "" {
		material.CertFile, material.KeyFile = cfg.Auth.TLSCertFile, cfg.Auth.TLSKeyFile
	}
	c := auth.Config{
		Material: *material, ClientCAFile: cfg.Auth.ClientCAFile, SocketPath: cfg.Listen.Socket,
		Anonymous: cfg.Auth.Anonymous, AlwaysAllow: cfg.Auth.Mode == config.AuthAlwaysAllow, Log: o.Log,
	}
	if f.cluster != nil {
		f.cluster.Guard(&c)
	}
	return auth.New(c)
}

const renewInterval = 24 * time.Hour

// renew keeps the certificates from running out under an agent that is never restarted.
func (id identity) renew(ctx context.Context, renewed metrics.Renewed) {
	ticker := time.NewTicker(renewInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if _, err := auth.Bootstrap(id.dirs, id.hosts, now); err != nil {
				renewed(0, err)
				id.log.Error("cannot renew certificates", "err", err)
			}
		}
	}
}
