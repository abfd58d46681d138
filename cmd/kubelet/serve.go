package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"nodal/agent/cgroups"
	"nodal/agent/config"
	"nodal/agent/images"
	"nodal/agent/membership"
	"nodal/host/stats"
	"nodal/node"
	"nodal/server"
	"nodal/server/auth"
	"nodal/server/listen"
	"nodal/server/metrics"
)

const (
	drain         = 5 * time.Second
	renewInterval = 24 * time.Hour
)

// serve opens the listeners and answers until the context ends.
func (a *agent) serve(ctx context.Context) error {
	srv, err := a.server(a.guard)
	if err != nil {
		return err
	}
	front := listen.New(listen.Config{HTTP: srv.HTTP(), GRPC: srv.GRPC(), ConnContext: a.guard.ConnContext, Grace: drain, Log: a.log})
	places, err := a.listeners(a.guard)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		<-ctx.Done()
		a.tell(a.supervisor.Stopping)
		srv.Stop()
		return nil
	})
	group.Go(func() error { return front.Serve(ctx, places...) })
	l := a.cfg.Listen
	a.servePlain(ctx, group, l.ReadOnlyAddress, l.ReadOnlyPort, srv.ReadOnly())
	a.servePlain(ctx, group, l.HealthzAddress, l.HealthzPort, srv.Healthz())
	renewed := a.counts.ServingCertificate(a.guard.Expires)
	group.Go(func() error { return a.renew(ctx, renewed) })
	if a.cluster != nil {
		renewals := membership.Renewals{Client: a.counts.ClientCertificate, Serving: renewed}
		group.Go(func() error { return a.cluster.Run(ctx, srv.Local(), renewals) })
	}
	a.tell(a.supervisor.Ready) // the kernel takes connections already
	return group.Wait()
}

// tell passes a word on to the service manager. Pods do not depend on it.
func (a *agent) tell(word func() error) {
	if err := word(); err != nil {
		a.log.Warn("the service manager is out of reach", "err", err)
	}
}

// door makes the node's identity at its first start and the guard of its API.
func (a *agent) door() (*auth.Authenticator, error) {
	material, err := auth.Bootstrap(a.dirs(), a.hosts(), time.Now())
	if err != nil {
		return nil, err
	}
	if a.cfg.Auth.TLSCertFile != "" {
		material.CertFile, material.KeyFile = a.cfg.Auth.TLSCertFile, a.cfg.Auth.TLSKeyFile
	}
	c := auth.Config{
		Material: *material, ClientCAFile: a.cfg.Auth.ClientCAFile, SocketPath: a.cfg.Listen.Socket,
		Anonymous: a.cfg.Auth.Anonymous, AlwaysAllow: a.cfg.Auth.Mode == config.AuthAlwaysAllow, Log: a.log,
	}
	if a.cluster != nil {
		a.cluster.Guard(&c)
	}
	return auth.New(c)
}

func (a *agent) dirs() auth.Dirs { return auth.Dirs{Root: a.cfg.Dirs.Root, Cert: a.cfg.Dirs.Cert} }

func (a *agent) hosts() []string {
	return append([]string{a.cfg.NodeName, "localhost", "127.0.0.1", "::1"}, a.machine.ips...)
}

// renew keeps the node's certificates from running out under an agent that is
// never restarted.
func (a *agent) renew(ctx context.Context, renewed metrics.Renewed) error {
	ticker := time.NewTicker(renewInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			if _, err := auth.Bootstrap(a.dirs(), a.hosts(), now); err != nil {
				renewed(0, err)
				a.log.Error("cannot renew certificates", "err", err)
			}
		}
	}
}

func (a *agent) server(door *auth.Authenticator) (*server.Server, error) {
	configz, err := a.cfg.Configz()
	if err != nil {
		return nil, err
	}
	a.countClaims(a.figures)
	return server.New(server.Config{
		Store: a.state.Store, Events: a.state.Events, Sources: a.sources, Offers: &a.offers,
		Intake: a.intake(node.SourceAPI), Site: a.site, Now: time.Now,
		Runtime: a.runtime, Logs: a.files.Logs, Images: a.shelf(), Stats: a.figures, Vitals: a.vitals,
		Probes: a.prober.Counts, Agent: a.counts, Healthy: a.alive,
		RunningPods: func(ctx context.Context) (map[node.Key]*node.Observed, error) {
			return a.runtime.List(ctx, nil)
		},
		Auth: door, Trace: a.tracing.Requests,
		Facts: server.Facts{
			Version: version, Started: a.started, Addresses: a.machine.ips, Endpoint: a.cfg.Runtime.Endpoint, Configz: configz, Reach: a.reach(),
			MachineID: a.machine.ids.machine, BootID: a.machine.ids.boot, SystemUUID: a.machine.ids.system,
			KernelVersion: a.machine.kernel, OSImage: a.machine.os, Architecture: a.machine.arch,
		},
		Debug: server.Debug{
			Flags: a.cfg.Flagz(), Verbosity: a.level, NoProfiles: !a.cfg.Listen.Profiles, NoFlags: !a.cfg.Listen.DebugFlags,
		},
		Limits: server.Limits{NoDebug: !a.cfg.Listen.DebuggingHandlers},
		Log:    a.log,
	})
}

// shelf shows the images of the runtime and of the node's own registry.
func (a *agent) shelf() *images.Shelf {
	s := &images.Shelf{
		Runtime: a.runtime, Endpoint: a.cfg.Runtime.Endpoint, Puller: a.puller, Collector: a.collector, Log: a.log,
	}
	if a.own != nil {
		s.Store = a.own.Images()
	}
	return s
}

// stats are read when somebody asks.
func (a *agent) stats() *stats.Collector {
	system := cgroups.System{Mounts: a.machine.cgroups, Pods: a.cgroups}
	if a.own != nil {
		system.Daemon = a.own.Pid
	}
	groups := stats.Cgroups{Version: a.machine.cgroups.Version, Dirs: a.machine.cgroups.Dirs(), System: system.Find}
	if a.cgroups != nil {
		groups.Pod = a.cgroups.Path
	}
	return stats.New(stats.Config{
		Runtime: a.runtime, Cgroups: groups, Views: a.state.Store.Views,
		NodeName: a.cfg.NodeName, Started: a.machine.booted, Root: a.cfg.Dirs.Root, Disk: a.usage,
	})
}

// reach is where browsers find the node: at the address that it listens on, or
// at all that it has.
func (a *agent) reach() server.Reach {
	l := a.cfg.Listen
	at := net.ParseIP(l.Address)
	if at == nil || at.IsUnspecified() {
		return server.Reach{Hosts: append([]string{"localhost"}, a.machine.ips...), Port: l.Port}
	}
	return server.Reach{Hosts: []string{l.Address}, Port: l.Port}
}

// listeners opens the socket and the TLS port.
func (a *agent) listeners(door *auth.Authenticator) ([]listen.Source, error) {
	var places []listen.Source
	l := a.cfg.Listen
	if l.Socket != "" {
		socket, err := listen.Unix(l.Socket)
		if err != nil {
			return nil, err
		}
		places = append(places, listen.Source{Listener: socket})
	}
	if l.Port != 0 {
		secure, err := door.TLS(nil)
		if err != nil {
			return nil, err
		}
		tcp, err := net.Listen("tcp", net.JoinHostPort(l.Address, strconv.Itoa(l.Port)))
		if err != nil {
			return nil, fmt.Errorf("listen on the node's port: %w", err)
		}
		places = append(places, listen.Source{Listener: tcp, TLS: secure})
	}
	return places, nil
}

// servePlain answers on a port without TLS, where one is asked for.
func (a *agent) servePlain(ctx context.Context, group *errgroup.Group, address string, port int, handler http.Handler) {
	if port == 0 {
		return
	}
	group.Go(func() error {
		tcp, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
		if err != nil {
			return fmt.Errorf("listen on a plain port: %w", err)
		}
		return listen.ServePlain(ctx, listen.Plain(handler, a.log), tcp, drain)
	})
}
