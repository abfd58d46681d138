package agent

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"nodal/agent/config"
	"nodal/agent/membership"
	"nodal/host/machine"
	"nodal/host/neighbour"
	"nodal/host/notify"
	"nodal/node"
	"nodal/server"
	"nodal/server/auth"
	"nodal/server/dashboard"
	"nodal/server/listen"
)

// drain bounds how long requests may go on when the agent ends.
const drain = 5 * time.Second

// api serves the node's API.
type api struct {
	server     *server.Server
	guard      *auth.Authenticator
	listen     config.Listen
	tls        *tls.Config // versions and algorithms
	supervisor notify.Supervisor
	tasks      []task // that need the API
	dirs       config.Dirs
	log        *slog.Logger
}

// expose makes the API of the parts.
func expose(o Options, f facts, m memory, r runtime, p parts) (*api, error) {
	m.counts.Claims(claimFigures(p.figures.Claims, o.Log))
	m.counts.Shutdowns(func() (began, ended time.Time) { t := p.machine.Times(); return t.Start, t.End })
	in, l := p.intake, o.Config.Listen
	in.Source = node.SourceAPI
	known := describe(f.machine)
	known.Version, known.Started, known.Addresses, known.Endpoint = o.Version, f.started, f.addresses, r.endpoint
	s, err := server.New(server.Config{
		State: server.State{
			Store: m.state.Store, Events: m.state.Events, Sources: p.sources, Plugins: p.plugins.Board, Devices: f.devices,
			Offers: f.offers, Configuration: p.config, Intake: in, Site: p.site,
		},
		Machine: server.Machine{
			Containers: r.streams, Logs: m.files, Images: p.shelf, Stats: p.figures, Past: p.remembered(), PastPod: p.recalled(), Vitals: p.vitals,
			Ranking: p.relief.Ranking, Shutdown: p.machine, Cordon: m.cordon,
			Probes: p.prober.Counts, Alive: p.reconciler.Alive, SecretsKey: m.state.Secrets, Subnets: r.own.Subnets(),
			CSIVolumes: csiVolumes(m.state.Store, m.csi.Held),
			System:     systemLogs(l, r.own.LogFile()),
			Garbage:    listGarbage(p.reconciler.Garbage, p.shelf.Collector.Garbage, p.logs.Garbage, r.own.Garbage),
			Running:    func(ctx context.Context) (map[node.Key]*node.Observed, error) { return r.pods.List(ctx, nil) },
		},
		Facts: known,
		Debug: server.Debug{
			Flags: o.Config.Flagz(), Verbosity: o.Level,
			NoProfiles: !l.Profiles, NoFlags: !l.DebugFlags, NoHandlers: !l.DebuggingHandlers,
		},
		Front: server.Front{
			Auth: p.guard, Audit: m.audit, Requests: m.counts, Trace: f.tracing.Requests,
			Reach: reachable(l, f.addresses), Idle: streamIdle(p.config.Running), Neighbours: neighbours(l.NodesFile),
		},
		Now: time.Now, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	counts := membership.Renewals{
		Client: m.counts.ClientCertificate, Serving: m.counts.ServingCertificate(p.guard.Expires),
	}
	all := apiTasks(o, f, p, board{
		p.sources, p.reconciler.Settled(), r.usePodCIDRs(),
	}, s.Local(), counts)
	all = append(all, steady(func(ctx context.Context) { p.config.Run(ctx, o.Reload) }))
	return &api{s, p.guard, l, handshake(o.Config.Auth.TLS), f.supervisor, all, o.Config.Dirs, o.Log}, nil
}

// neighbours returns the nodes of a file; nil if there is none.
func neighbours(path string) server.Neighbours {
	if path == "" {
		return nil
	}
	return neighbour.Open(path)
}

// handshake returns the versions and algorithms for the TLS port.
func handshake(t config.TLS) *tls.Config {
	return &tls.Config{MinVersion: t.MinVersion, CipherSuites: t.CipherSuites, CurvePreferences: t.Curves}
}

// describe returns the server's view of a machine.
func describe(m machine.Facts) server.Facts {
	return server.Facts{
		MachineID: m.IDs.Machine, BootID: m.IDs.Boot, SystemUUID: m.IDs.System,
		KernelVersion: m.Kernel, OSImage: m.OSImage, Architecture: m.Arch,
	}
}

// warned returns what the API says of the node's settings and of its machine.
func warned(of []config.Warning) (all []server.Warning) {
	for _, w := range of {
		all = append(all, server.Warning(w))
	}
	return all
}

// apiTasks renew the certificate of the API, and keep the node in its cluster if it is a member of one. Otherwise they run its
// workloads. local leads to the API.
func apiTasks(o Options, f facts, p parts, heard board, local grpc.ClientConnInterface, counts membership.Renewals) []task {
	all := []task{steady(func(ctx context.Context) { f.identity.renew(ctx, counts.Serving) }), steady(p.guard.Watch)}
	if f.cluster != nil {
		self := membership.Node{API: local, Board: heard}
		all = append(all, func(ctx context.Context) error { return f.cluster.Run(ctx, self, counts) })
	} else {
		all = append(all, steady(runWorkloads(local, p.reconciler.Looked(), o.Log)))
	}
	return all
}

// reachable returns where browsers find the node: at the address that it listens on, or else at all its addresses.
func reachable(l config.Listen, addresses []string) dashboard.Reach {
	at := net.ParseIP(l.Address)
	if at == nil || at.IsUnspecified() {
		return dashboard.Reach{Hosts: append([]string{"localhost"}, addresses...), Port: l.Port}
	}
	return dashboard.Reach{Hosts: []string{l.Address}, Port: l.Port}
}

// serve opens the listeners and answers requests until the context ends.
func (a *api) serve(ctx context.Context) error {
	front := listen.New(listen.Config{
		HTTP: a.server.HTTP(), GRPC: a.server.GRPC(), Fallback: a.server.Fallback(),
		Knows: a.guard.Knows, ConnContext: a.guard.ConnContext, Grace: drain, Log: a.log,
	})
	places, err := a.listeners()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		<-ctx.Done()
		a.notify(a.supervisor.Stopping)
		a.server.Stop()
		return nil
	})
	group.Go(func() error { return front.Serve(ctx, places...) })
	a.servePlain(ctx, group, a.listen.ReadOnlyAddress, a.listen.ReadOnlyPort, a.server.ReadOnly())
	a.servePlain(ctx, group, a.listen.HealthzAddress, a.listen.HealthzPort, a.server.Healthz())
	a.serveUpstream(ctx, group, a.dirs.PodResources(), a.server.PodResources())
	a.serveUpstream(ctx, group, a.dirs.PodsAPI(), a.server.PodsAPI())
	start(ctx, group, a.tasks)
	a.notify(a.supervisor.Ready) // the kernel takes connections already
	return group.Wait()
}

// notify sends a notification to the service manager. It logs a failure, since pods do not depend on it.
func (a *api) notify(send func() error) {
	if err := send(); err != nil {
		a.log.Warn("cannot notify the service manager", "err", err)
	}
}

// listeners opens the socket and the TLS port.
func (a *api) listeners() ([]listen.Source, error) {
	var places []listen.Source
	if a.listen.Socket != "" {
		socket, err := listen.Unix(a.listen.Socket)
		if err != nil {
			return nil, err
		}
		places = append(places, listen.Source{Listener: socket})
	}
	if a.listen.Port != 0 {
		secure, err := a.guard.TLS(a.tls)
		if err != nil {
			return nil, err
		}
		tcp, err := net.Listen("tcp", net.JoinHostPort(a.listen.Address, strconv.Itoa(a.listen.Port)))
		if err != nil {
			return nil, fmt.Errorf("listen on the node's port: %w", err)
		}
		places = append(places, listen.Source{Listener: tcp, TLS: secure})
	}
	return places, nil
}

// servePlain answers on a port without TLS. Port 0 disables it.
func (a *api) servePlain(ctx context.Context, group *errgroup.Group, address string, port int, handler http.Handler) {
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

// serveUpstream answers at a socket of upstream's, for programs of the machine that expect a kubelet there. Pods do not
// depend on them, so a socket that cannot be opened does not end the agent.
func (a *api) serveUpstream(ctx context.Context, group *errgroup.Group, path string, s *grpc.Server) {
	socket, err := listen.Unix(path)
	if err != nil {
		a.log.Warn("programs that expect a kubelet's socket here get no answer", "socket", path, "err", err)
		return
	}
	group.Go(func() error { return listen.ServeGRPC(ctx, s, socket, drain) })
}
