package cri

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// EffectKind names something that happened to the machine.
type EffectKind string

// The kinds of effects.
const (
	SandboxStarted    EffectKind = "sandbox-started"
	SandboxStopped    EffectKind = "sandbox-stopped"
	SandboxRemoved    EffectKind = "sandbox-removed"
	ContainerCreated  EffectKind = "container-created"
	ContainerStarted  EffectKind = "container-started"
	ContainerSignaled EffectKind = "container-signaled"
	ContainerExited   EffectKind = "container-exited"
	ContainerRemoved  EffectKind = "container-removed"
	ImagePulled       EffectKind = "image-pulled"
	ImageRemoved      EffectKind = "image-removed"
)

// Signal names the signal that a process received.
type Signal string

// The signals that a runtime sends.
const (
	Term Signal = "TERM"
	Kill Signal = "KILL"
)

// Pod is the identity that a sandbox and its containers carry.
type Pod struct{ Namespace, Name, UID string }

func (p Pod) String() string { return p.Namespace + "/" + p.Name + "/" + p.UID }

// Effect is one entry of the journal: something that truly happened, whatever the client was
// answered. Fields that a kind does not need are zero.
type Effect struct {
	At          time.Time
	Kind        EffectKind
	Pod         Pod
	SandboxID   string
	ContainerID string
	Container   string // the container's name
	Attempt     uint32 // the attempt of the container, or of the sandbox without one
	Signal      Signal
	Grace       time.Duration // the grace period of the call that sent the signal
	ExitCode    int32
	Image       string
}

// String returns the effect without its time and IDs, for reading and comparing.
func (e Effect) String() string {
	var b strings.Builder
	b.WriteString(string(e.Kind))
	if e.Image != "" {
		fmt.Fprintf(&b, " %s", e.Image)
	}
	if e.SandboxID != "" {
		fmt.Fprintf(&b, " %s", e.Pod)
		if e.Container != "" {
			fmt.Fprintf(&b, " %s", e.Container)
		}
		fmt.Fprintf(&b, " #%d", e.Attempt)
	}
	if e.Signal != "" {
		fmt.Fprintf(&b, " %s grace=%s", e.Signal, e.Grace)
	}
	if e.Kind == ContainerExited {
		fmt.Fprintf(&b, " code=%d", e.ExitCode)
	}
	return b.String()
}

type journal struct {
	mu      sync.Mutex
	effects []Effect
}

func (j *journal) add(e Effect) {
	e.At = time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.effects = append(j.effects, e)
}

// Journal returns every effect since the start, oldest first.
func (s *Server) Journal() []Effect {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	return slices.Clone(s.journal.effects)
}
