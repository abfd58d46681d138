package server

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"nodal"
	nodev1 "nodal/api/gen/node/v1"
	"nodal/openapi"
	"nodal/server/dashboard"
	"nodal/server/inproc"
	"nodal/server/kubeletapi"
	"nodal/server/listen"
	"nodal/server/manual"
	"nodal/server/method"
	"nodal/server/rest"
	"nodal/server/runs"
	"nodal/web"
)

// Server holds the handlers of the API, to be put behind listeners.
type Server struct {
	grpc     *grpc.Server
	local    *inproc.Conn
	fallback http.Handler
	full     http.Handler
	readOnly http.Handler
	healthz  http.Handler
	upstream upstreamSockets
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
	unary, stream := chains(cfg.Front, api, cfg.Log)
	s.grpc = grpc.NewServer(append(listen.GRPCOptions(cfg.Front.Auth.PeerInfo),
		grpc.ChainUnaryInterceptor(unary...),
		grpc.ChainStreamInterceptor(stream...),
		// Room for the rest of the message: the service itself measures the manifest.
		grpc.MaxRecvMsgSize(cfg.Front.Limits.BodyBytes+64<<10),
	)...)
	s.local = inproc.New(unary, stream)

	services := newServices(cfg, s.stopped)
	services.register(s.grpc)
	services.register(s.local)
	healthv1.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)

	handlers, err := rest.New(s.local, cfg.Front.Limits.body())
	if err != nil {
		return nil, fmt.Errorf("set up REST: %w", err)
	}
	own := kubeletapi.Routes(cfg.kubelet(services.pods, services.logs.runs))
	table, err := routes(cfg.State.Site.NodeName, handlers, own, api, s.local, cfg.Front.Auth, cfg.Front.Limits.body())
	if err != nil {
		return nil, fmt.Errorf("set up routes: %w", err)
	}
	s.upstream = newUpstreamSockets(cfg, s.stopped)
	s.listeners(cfg, router{table, cfg.Front, cfg.Debug.NoHandlers}, oneMessage(api, s.grpc))
	return s, nil
}

// listeners builds the handler of each kind of listener.
func (s *Server) listeners(cfg Config, r router, calls http.Handler) {
	page, refused := dashboard.New(web.Files()), http.HandlerFunc(unauthorized)
	signIn := dashboard.Sessions(cfg.Front.Auth, cfg.Front.Reach, cfg.Front.Limits.body(), refused)
	documents := manual.New(nodal.Documents, openapi.Document)
	known := func(next http.Handler) http.Handler { return cfg.Front.Auth.HTTP(next, refused) }
	others := newNeighbourhood(cfg.Front.Neighbours, s.stopped)
	s.full = newPassages(time.Now).Front(known, cfg.Front.Limits.body(), sameOrigin(documents.Front(others.Front(cfg.Front.Auth, known, page.Front(signIn, known(r.serve(method.Full)))))))
	s.readOnly = localHost(documents.Front(page.Front(asViewer(dashboard.ReadOnlySession()), asViewer(r.serve(method.ReadOnly)))))
	s.healthz = localHost(asViewer(r.serve(method.Health)))
	s.fallback = cfg.Front.Auth.Calls(calls, http.HandlerFunc(unauthenticatedCall))
}

// GRPC returns the native gRPC server.
func (s *Server) GRPC() *grpc.Server { return s.grpc }

// Fallback returns the handler of gRPC that comes by net/http. It identifies the caller by the
// headers of a call, before it reads a message.
func (s *Server) Fallback() http.Handler { return s.fallback }

// Local returns a connection to the API inside the process. The caller's context has to hold
// an identity (auth.NewContext).
func (s *Server) Local() grpc.ClientConnInterface { return s.local }

// HTTP returns the handler of everything, for authenticated callers.
func (s *Server) HTTP() http.Handler { return s.full }

// ReadOnly returns the handler of a fixed list of reads, for every caller.
func (s *Server) ReadOnly() http.Handler { return s.readOnly }

// Healthz returns the handler of the health checks, for every caller.
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
	nodeLogs  *nodeLogService
	tokens    *tokenService
	audit     *auditService
	certs     *certificateService
}

func newServices(cfg Config, stopped <-chan struct{}) services {
	state, machine, limit := cfg.State, cfg.Machine, cfg.Front.Limits.BodyBytes
	kept := objects{store: state.Store, intake: state.Intake, now: cfg.Now, limit: limit}
	logs := runs.Logs{Pods: state.Store, Site: state.Site, Files: machine.Logs, Stopped: stopped}
	return services{
		manifests: &manifestService{
			intake: state.Intake, now: cfg.Now, limit: limit,
			ahead: foresight{vitals: machine.Vitals, ranking: machine.Ranking, running: running(state.Store)},
		},
		pods: &podService{
			store: state.Store, intake: state.Intake, site: state.Site, render: newRenderers(state.Site),
			now: cfg.Now, past: machine.PastPod, limit: limit, stopped: stopped,
		},
		logs:    &logService{runs: logs, now: cfg.Now},
		exec:    &execService{entrance: entrance(state), containers: machine.Containers, idle: cfg.Front.Idle},
		events:  &eventService{store: state.Store, events: state.Events, stopped: stopped},
		images:  &imageService{images: machine.Images, names: imageNames{cfg.State, machine.Images}, idle: cfg.Front.Limits.ImportIdle, stopped: stopped},
		objects: newObjectServices(kept, stopped),
		stats:   &statsService{pods: state.Store, stats: machine.Stats, past: machine.Past, now: cfg.Now, stopped: stopped},
		node: &nodeService{
			store: state.Store, sources: state.Sources, offers: state.Offers, site: state.Site, vitals: machine.Vitals, ranking: machine.Ranking, shutdown: machine.Shutdown, cordon: machine.Cordon,
			facts: cfg.Facts, config: state.Configuration, verbosity: cfg.Debug.Verbosity, fixed: cfg.Debug.NoFlags, stopped: stopped,
			plugins: state.Plugins, devices: state.Devices, csiVolumes: machine.CSIVolumes, garbage: machine.Garbage, key: machine.SecretsKey, subnets: machine.Subnets,
		},
		nodeLogs: &nodeLogService{logs: machine.System, stopped: stopped},
		tokens:   &tokenService{tokens: cfg.Front.Auth},
		audit:    &auditService{log: cfg.Front.Audit, stopped: stopped},
		certs:    &certificateService{certificates: cfg.Front.Auth},
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
	nodev1.RegisterNodeLogsServiceServer(r, s.nodeLogs)
	nodev1.RegisterTokensServiceServer(r, s.tokens)
	nodev1.RegisterAuditServiceServer(r, s.audit)
	nodev1.RegisterCertificatesServiceServer(r, s.certs)
	s.objects.register(r)
}
