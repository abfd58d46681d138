package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/intake"
	"nodal/node/offer"
	"nodal/node/store"
	"nodal/server/auth"
	"nodal/server/dashboard"
	"nodal/server/inproc"
	"nodal/server/listen"
	"nodal/server/method"
	"nodal/server/metrics"
	"nodal/server/wire"
	"nodal/web"
)

// Config is everything the server depends on.
type Config struct {
	Store   *store.Store
	Events  *store.Events
	Sources *store.Sources
	Offers  Offers
	Intake  intake.Intake // of the API's own pods
	Site    node.Site
	Now     func() time.Time

	Runtime     Containers
	Logs        Logs
	Images      Images
	Stats       Stats
	Vitals      Vitals // of the node
	Probes      func() []*node.ProbeCount
	Agent       *metrics.Agent                                             // counts requests, among other things
	RunningPods func(context.Context) (map[node.Key]*node.Observed, error) // as the runtime shows them
	Healthy     func(context.Context) error                                // returns once the reconciler has turned

	Trace Trace // nil: no request is followed

	Auth   *auth.Authenticator
	Facts  Facts
	Debug  Debug
	Limits Limits
	Log    *slog.Logger
}

// Vitals reads the node's state. The server never writes it.
type Vitals interface {
	// Look returns what the runtime says of itself and the node's conditions, as they were moments ago.
	Look(ctx context.Context) (node.RuntimeStatus, []corev1.NodeCondition)
	// Changed returns a channel that is closed when a look shows something else than the one before.
	Changed() <-chan struct{}
}

// Offers reads the node's offer to pods. The server never writes it.
type Offers interface {
	Read() offer.Offer
	Changed() <-chan struct{}
}

// Facts describes the node, as it was at the start.
type Facts struct {
	Version       string
	Started       time.Time
	Addresses     []string
	KernelVersion string
	OSImage       string
	Architecture  string
	MachineID     string
	BootID        string
	SystemUUID    string
	Configz       []byte          // the body of /configz
	Endpoint      string          // of the runtime
	Reach         dashboard.Reach // where the dashboard is
}

// Limits bound what one request may ask. Zero values are the defaults.
type Limits struct {
	BodyBytes   int           // of a manifest or another body; 4 MiB
	BodyTimeout time.Duration // until a body has arrived; 30 s
	ImportIdle  time.Duration // for which nothing of a tarball may come; 1 min
	NoDebug     bool          // enableDebuggingHandlers is off: no logs, run and the like on kubelet paths
}

func (l Limits) body() wire.BodyLimits {
	return wire.BodyLimits{Bytes: l.BodyBytes, Timeout: l.BodyTimeout}
}

func (cfg Config) withDefaults() Config {
	if cfg.Limits.BodyBytes == 0 {
		cfg.Limits.BodyBytes = 4 << 20
	}
	if cfg.Limits.BodyTimeout == 0 {
		cfg.Limits.BodyTimeout = 30 * time.Second
	}
	if cfg.Limits.ImportIdle == 0 {
		cfg.Limits.ImportIdle = time.Minute
	}
	if cfg.Agent == nil {
		cfg.Agent = metrics.NewAgent(cfg.Site.NodeName, 0, cfg.Store.Views)
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	return cfg
}

// Server is the API, ready to be put behind listeners.
type Server struct {
	grpc     *grpc.Server
	local    *inproc.Conn
	full     http.Handler
	readOnly http.Handler
	healthz  http.Handler
	health   *health.Server
	stopped  chan struct{}
	stop     func()
}

// New builds the services and the handlers in front of them.
func New(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	s := &Server{health: health.NewServer(), stopped: make(chan struct{})}
	s.stop = sync.OnceFunc(func() {
		close(s.stopped)
		s.health.Shutdown()
	})
	api, err := method.All()
	if err != nil {
		return nil, fmt.Errorf("read the API's methods: %w", err)
	}
	rights := method.Rights(api)
	unary, stream := unaryChain(cfg.Auth, rights, cfg.Log), streamChain(cfg.Auth, rights, cfg.Log)
	if cfg.Trace != nil {
		unary, stream = append(unary, cfg.Trace.unary), append(stream, cfg.Trace.stream)
	}
	s.grpc = grpc.NewServer(append(listen.GRPCOptions(cfg.Auth.PeerInfo),
		grpc.ChainUnaryInterceptor(unary...),
		grpc.ChainStreamInterceptor(stream...),
		// Room for the rest of the message: the manifest itself is measured by the service.
		grpc.MaxRecvMsgSize(cfg.Limits.BodyBytes+64<<10),
	)...)
	conn := inproc.New(unary, stream)
	s.local = conn

	services := newServices(cfg, s.stopped)
	services.register(s.grpc)
	services.register(conn)
	healthv1.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)

	rest, err := newREST(cfg.Limits.body(), conn)
	if err != nil {
		return nil, fmt.Errorf("set up REST: %w", err)
	}
	paths := newKubelet(cfg, services)
	table, err := routes(rest, paths, api, cfg.Auth)
	if err != nil {
		return nil, fmt.Errorf("set up routes: %w", err)
	}
	paths.paths = pathsOf(table)
	page := dashboard.New(web.Files())
	refused := http.HandlerFunc(unauthorized)
	signIn := dashboard.Sessions(cfg.Auth, cfg.Facts.Reach, cfg.Limits.body(), refused)
	s.full = sameOrigin(page.Front(signIn, cfg.Auth.HTTP(serve(table, method.Full, cfg), refused)))
	s.readOnly = localHost(page.Front(asViewer(dashboard.ReadOnlySession()), asViewer(serve(table, method.ReadOnly, cfg))))
	s.healthz = localHost(asViewer(serve(table, method.Health, cfg)))
	return s, nil
}

// GRPC is the native gRPC server.
func (s *Server) GRPC() *grpc.Server { return s.grpc }

// Local is the same API without a wire, for callers whose context says who they
// are (auth.NewContext).
func (s *Server) Local() grpc.ClientConnInterface { return s.local }

// HTTP serves everything, to callers that prove who they are.
func (s *Server) HTTP() http.Handler { return s.full }

// ReadOnly serves a fixed list of reads to anybody.
func (s *Server) ReadOnly() http.Handler { return s.readOnly }

// Healthz serves the health of the process to anybody.
func (s *Server) Healthz() http.Handler { return s.healthz }

// Stop ends watches and followed logs and reports the services as not serving,
// so that the listeners can drain. It may be called more than once.
func (s *Server) Stop() { s.stop() }

// services are the implementations behind the API.
type services struct {
	manifests *manifestService
	pods      *podService
	logs      *logService
	exec      *execService
	events    *eventService
	images    *imageService
	objects   objectServices
	stats     *statsService
	node      *nodeService
}

func newServices(cfg Config, stopped <-chan struct{}) services {
	kept := objects{store: cfg.Store, intake: cfg.Intake, now: cfg.Now, limit: cfg.Limits.BodyBytes}
	return services{
		manifests: &manifestService{intake: cfg.Intake, now: cfg.Now, limit: cfg.Limits.BodyBytes},
		pods:      &podService{store: cfg.Store, intake: cfg.Intake, site: cfg.Site, render: newRenderers(cfg.Site), now: cfg.Now, limit: cfg.Limits.BodyBytes, stopped: stopped},
		logs:      &logService{store: cfg.Store, logs: cfg.Logs, site: cfg.Site, now: cfg.Now, stopped: stopped},
		exec:      &execService{store: cfg.Store, runtime: cfg.Runtime},
		events:    &eventService{store: cfg.Store, events: cfg.Events, stopped: stopped},
		images:    &imageService{images: cfg.Images, idle: cfg.Limits.ImportIdle, stopped: stopped},
		objects:   newObjectServices(kept, stopped),
		stats:     &statsService{store: cfg.Store, stats: cfg.Stats, stopped: stopped},
		node: &nodeService{
			store: cfg.Store, sources: cfg.Sources, offers: cfg.Offers, site: cfg.Site, facts: cfg.Facts, stopped: stopped,
			vitals: cfg.Vitals, debug: cfg.Debug,
		},
	}
}

func (s services) register(r grpc.ServiceRegistrar) {
	nodev1.RegisterManifestsServiceServer(r, s.manifests)
	nodev1.RegisterPodsServiceServer(r, s.pods)
	nodev1.RegisterLogsServiceServer(r, s.logs)
	nodev1.RegisterExecServiceServer(r, s.exec)
	nodev1.RegisterEventsServiceServer(r, s.events)
	nodev1.RegisterImagesServiceServer(r, s.images)
	nodev1.RegisterStatsServiceServer(r, s.stats)
	nodev1.RegisterNodeServiceServer(r, s.node)
	s.objects.register(r)
}
