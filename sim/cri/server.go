package cri

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Config holds the initial state of a runtime.
type Config struct {
	Images  []Image // images that can be pulled, and those on the machine already
	PullAny bool    // any reference can be pulled, listed in Images or not

	// Legacy answers as containerd 1.6 does: no event stream, no RuntimeConfig, no runtime handlers
	// in Status, and NotFound for the stop of a missing container.
	Legacy bool

	// WriteLogs writes the log files that sandboxes and containers ask for.
	WriteLogs bool

	// Handlers are the runtime handlers beside the default one.
	Handlers []*runtime.RuntimeHandler

	// Load returns the CPU time of a container since its start, and its memory. If nil, all
	// containers use the same small amounts.
	Load func(c Container, ran time.Duration) (cpu time.Duration, memory uint64)

	// Exec answers ExecSync. If it is nil or returns false, the command runs as a program.
	Exec func(c Container, cmd []string) (ExecResult, bool)
}

// Server is the runtime. Its methods may be called at any time, with or without clients.
type Server struct {
	runtime.UnimplementedRuntimeServiceServer
	runtime.UnimplementedImageServiceServer

	config  Config
	grpc    *grpc.Server
	gate    *gate
	faults  *injector
	journal *journal
	events  *broadcast

	mu         sync.Mutex // guards all below
	life       chan struct{}
	serial     int // the last number used in an ID or address
	ready      readiness
	podCIDR    string
	names      names
	sandboxes  *table[*sandbox]
	containers *table[*container]
	images     *table[*image]
}

var (
	_ runtime.RuntimeServiceServer = (*Server)(nil)
	_ runtime.ImageServiceServer   = (*Server)(nil)
)

// NewServer makes a runtime that is ready and has no sandboxes.
func NewServer(config Config) *Server {
	s := &Server{
		config:     config,
		gate:       newGate(),
		faults:     &injector{},
		journal:    &journal{},
		events:     newBroadcast(),
		life:       make(chan struct{}),
		ready:      readiness{runtime: true, network: true},
		names:      names{},
		sandboxes:  newTable[*sandbox](),
		containers: newTable[*container](),
		images:     newTable[*image](),
	}
	for _, image := range config.Images {
		s.SetImage(image)
	}
	// Stop has to wait for handlers, or a delayed effect would outlive the server.
	s.grpc = grpc.NewServer(grpc.UnaryInterceptor(s.intercept), grpc.WaitForHandlers(true))
	runtime.RegisterRuntimeServiceServer(s.grpc, s)
	runtime.RegisterImageServiceServer(s.grpc, s)
	return s
}

// Serve answers on the listener until Stop.
func (s *Server) Serve(listener net.Listener) error {
	if err := s.grpc.Serve(s.gate.listen(listener)); err != nil {
		return fmt.Errorf("serve CRI on %s: %w", listener.Addr(), err)
	}
	return nil
}

// Stop ends the server and everything it holds: connections, timers, files.
// The state stays readable through Snapshot and Journal.
func (s *Server) Stop() {
	s.mu.Lock()
	s.endLife()
	for _, c := range s.containers.all() {
		c.process.stopTimers()
		c.log.close()
	}
	s.mu.Unlock()
	s.grpc.Stop()
}

// Crash ends the runtime's process: connections drop, calls in flight are abandoned, and new
// connections are closed at once. Containers run on, as they do under their shims.
func (s *Server) Crash() {
	s.mu.Lock()
	s.endLife()
	for _, c := range s.containers.all() {
		c.process.termSent = false // a new runtime process does not know that SIGTERM was sent
	}
	s.mu.Unlock()
	s.gate.shut()
}

// Recover starts the runtime again, with the state that it left.
func (s *Server) Recover() { s.gate.open() }

// RestartRuntime crashes the runtime and starts it at once.
func (s *Server) RestartRuntime() {
	s.Crash()
	s.Recover()
}

// endLife abandons the calls of the present process.
func (s *Server) endLife() {
	close(s.life)
	s.life = make(chan struct{})
}

// currentLife returns a channel that closes when the present process ends.
func (s *Server) currentLife() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life
}

// newID returns an ID that looks like containerd's. IDs are the same in every run.
func (s *Server) newID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	return digest(fmt.Sprintf("id %d", s.serial))
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// nanos returns a time in CRI's form: 0 means that it has not come yet.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
