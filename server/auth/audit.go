package auth

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/node"
)

// Auditor keeps which callers do what.
type Auditor interface {
	// Begin keeps a request that is allowed, before it runs. The request must not run if there is an error. The
	// function that it returns keeps how the request ended.
	Begin(Call) (end func(Ending), err error)
	// Refuse keeps a request that does not run.
	Refuse(c Call, outcome string)
}

// Call is one request on its way through.
type Call struct {
	Identity Identity // without a name if the caller has proven none
	From     string   // its address
	Verb     Verb
	Method   string        // gRPC's full name, or the method and path of a request to the kubelet
	Message  any           // the request, or the first message of a stream; nil if there is none
	Request  *http.Request // to a path of the kubelet, or one that was refused before its body was read; else nil
	Started  time.Time
}

// Ending says how a request ended.
type Ending struct {
	Outcome string // a code of gRPC or of HTTP
	Answer  any    // nil for a stream, a path of the kubelet and an error
	Note    *Note
}

// unaudited keeps nothing.
type unaudited struct{}

var _ Auditor = unaudited{}

func (unaudited) Begin(Call) (func(Ending), error) { return func(Ending) {}, nil }
func (unaudited) Refuse(Call, string)              {}

// Note collects what becomes known of a request while it runs. A nil Note takes everything and keeps nothing.
type Note struct {
	mu    sync.Mutex
	exit  *int32
	ports []int32
}

// mostPorts bounds the ports that a note keeps of one request.
const mostPorts = 16

// Exited notes the exit code of the request's command.
func (n *Note) Exited(code int32) {
	if n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.exit = &code
	}
}

// Forwarded notes a port that the request reaches.
func (n *Note) Forwarded(port int32) {
	if n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.ports) < mostPorts && !slices.Contains(n.ports, port) {
			n.ports = append(n.ports, port)
		}
	}
}

// Read returns the exit code, if there is one, and the ports.
func (n *Note) Read() (exit *int32, ports []int32) {
	if n == nil {
		return nil, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.exit, slices.Clone(n.ports)
}

type noteKey struct{}

func withNote(ctx context.Context) (context.Context, *Note) {
	note := &Note{}
	return context.WithValue(ctx, noteKey{}, note), note
}

// NoteOf returns the note of the request that the context belongs to, or nil.
func NoteOf(ctx context.Context) *Note {
	note, _ := ctx.Value(noteKey{}).(*Note)
	return note
}

// begin has the auditor keep a request, or returns the error with which it is refused.
func (a *Authenticator) begin(c Call) (func(Ending), error) {
	end, err := a.audit.Begin(c)
	if err != nil {
		return nil, refuse(codes.Unavailable, node.ErrUnavailable, "%v", err)
	}
	return end, nil
}

// fromOf returns the address of the caller, which came by HTTP, by gRPC or by a part of the agent.
func fromOf(ctx context.Context) string {
	e, _ := ctx.Value(evidenceKey{}).(evidence)
	return e.from()
}

func (e evidence) from() string {
	if _, _, err := net.SplitHostPort(e.remote); err == nil {
		return e.remote
	}
	if e.socket != nil {
		return viaSocket
	}
	return ""
}

// auditedStream has the first message of a stream kept before the handler gets it.
type auditedStream struct {
	grpc.ServerStream
	ctx   context.Context
	begin func(first any) (func(Ending), error)
	end   func(Ending) // nil before the first message
}

func (s *auditedStream) Context() context.Context { return s.ctx }

// RecvMsg receives a message.
func (s *auditedStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil || s.end != nil {
		return err
	}
	end, err := s.begin(m)
	if err != nil {
		return err
	}
	s.end = end
	return nil
}

// ended keeps how the stream ended. A stream without a message has asked for nothing.
func (s *auditedStream) ended(err error, note *Note) {
	if s.end != nil {
		s.end(Ending{Outcome: status.Code(err).String(), Note: note})
	}
}
