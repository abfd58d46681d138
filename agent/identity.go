package agent

import (
	"context"
	"log/slog"
	"time"

	"nodal/agent/config"
	"nodal/server/auth"
	"nodal/server/metrics"
)

// identity makes and renews the certificates by which clients know the node.
type identity struct {
	dirs  auth.Dirs
	hosts []string
	log   *slog.Logger
}

// newIdentity returns the identity of a node by its name and addresses.
func newIdentity(nodeName string, addresses []string, dirs config.Dirs, log *slog.Logger) identity {
	return identity{
		dirs:  auth.Dirs{Root: dirs.Root, Cert: dirs.Cert},
		hosts: append([]string{nodeName, "localhost", "127.0.0.1", "::1"}, addresses...),
		log:   log,
	}
}

// guard makes the certificates, at the node's first start, and returns the guard of its API. join adds what other
// parts know or keep of callers; nil adds nothing.
func (id identity) guard(a config.Auth, socket string, join func(*auth.Config)) (*auth.Authenticator, error) {
	material, err := auth.Bootstrap(id.dirs, id.hosts, time.Now())
	if err != nil {
		return nil, err
	}
	f := filesOf(a, material)
	material.CertFile, material.KeyFile = f.CertFile, f.KeyFile
	c := auth.Config{
		Material: *material, ClientCAFile: f.ClientCAFile, SocketPath: socket,
		Anonymous: a.Anonymous, OtherTokens: a.OtherTokens, AlwaysAllow: a.Mode == config.AuthAlwaysAllow, Log: id.log,
	}
	if join != nil {
		join(&c)
	}
	return auth.New(c)
}

// filesOf returns the files of credentials that the settings name, or else those that the node has made.
func filesOf(a config.Auth, made *auth.Material) auth.Files {
	f := auth.Files{CertFile: made.CertFile, KeyFile: made.KeyFile, ClientCAFile: a.ClientCAFile}
	if a.TLSCertFile != "" {
		f.CertFile, f.KeyFile = a.TLSCertFile, a.TLSKeyFile
	}
	return f
}

const renewInterval = 24 * time.Hour

// renew keeps the certificates from running out while the agent runs, until the context ends.
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
