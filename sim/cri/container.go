package cri

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// container is one attempt at running a program in a sandbox.
type container struct {
	id      string
	sandbox *sandbox
	config  *runtime.ContainerConfig
	image   *image
	limits  *runtime.LinuxContainerResources

	state      runtime.ContainerState
	createdAt  time.Time
	startedAt  time.Time
	finishedAt time.Time
	code       int32
	reason     string
	message    string

	process process
	log     *logFile
}

// process holds the state of a container while it runs.
type process struct {
	program  program
	timers   []*time.Timer
	termSent bool          // a runtime process sends SIGTERM once, however often it is asked to stop
	exited   chan struct{} // closed at the end
}

func (c *container) running() bool {
	return c.state == runtime.ContainerState_CONTAINER_RUNNING
}

func (c *container) words() []string {
	return append(append([]string(nil), c.config.GetCommand()...), c.config.GetArgs()...)
}

func (c *container) effect(kind EffectKind) Effect {
	e := c.sandbox.effect(kind)
	e.ContainerID = c.id
	e.Container = c.config.GetMetadata().GetName()
	e.Attempt = c.config.GetMetadata().GetAttempt()
	return e
}

// after calls do once the container has run for d more, unless it ends before.
func (s *Server) after(c *container, d time.Duration, do func()) {
	c.process.timers = append(c.process.timers, time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.running() {
			do()
		}
	}))
}

func (p *process) stopTimers() {
	for _, timer := range p.timers {
		timer.Stop()
	}
	p.timers = nil
}

// exit ends a container's process.
func (s *Server) exit(c *container, code int32, reason string) {
	c.process.stopTimers()
	c.state = runtime.ContainerState_CONTAINER_EXITED
	c.finishedAt = time.Now()
	c.code, c.reason = code, reason
	c.log.close()
	close(c.process.exited)

	e := c.effect(ContainerExited)
	e.ExitCode = code
	s.journal.add(e)
	s.publishContainer(c, runtime.ContainerEventType_CONTAINER_STOPPED_EVENT)
}

// exitReason returns containerd's reason for an exit code.
func exitReason(code int32) string {
	if code == 0 {
		return "Completed"
	}
	return "Error"
}

func containerMissing(id string) error {
	return status.Errorf(codes.NotFound, "an error occurred when try to find container %q: not found", id)
}
