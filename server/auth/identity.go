package auth

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodal/node"
)

// Role names the rights of an identity on this node.
type Role string

const (
	RoleNone     Role = "" // known, perhaps, but may do nothing
	RoleViewer   Role = "viewer"
	RoleOperator Role = "operator"
	RoleAdmin    Role = "admin"
)

// Verb is a kind of request. The zero Verb is always denied.
type Verb string

const (
	Read  Verb = "read"
	Write Verb = "write" // apply, delete, restart
	Exec  Verb = "exec"  // exec, run, attach, port-forward, checkpoint
	Admin Verb = "admin" // profiles, secrets of the configuration
)

// Allow is the whole authorization table.
func Allow(role Role, verb Verb) bool {
	switch role {
	case RoleAdmin:
		return verb == Read || verb == Write || verb == Exec || verb == Admin
	case RoleOperator:
		return verb == Read || verb == Write || verb == Exec
	case RoleViewer:
		return verb == Read
	}
	return false
}

// least returns the role with the fewest rights that may do verb.
func least(verb Verb) Role {
	for _, role := range []Role{RoleViewer, RoleOperator} {
		if Allow(role, verb) {
			return role
		}
	}
	return RoleAdmin
}

// words says what a caller may not do, after "may not".
func (v Verb) words() string {
	if v == Admin {
		return "administer the node"
	}
	return string(v)
}

// Identity names the caller of a request.
type Identity struct {
	Name   string   `json:"Name"`
	Role   Role     `json:"Role"`
	Groups []string `json:"Groups"`
	Via    string   `json:"Via"` // "socket", "certificate", "token", "session", "process", "workloads" or "anonymous"

	// Credential is the id of the node's token, or the serial number of the certificate, that the caller has shown.
	Credential string `json:"Credential,omitempty"`
	// Namespaces are those to which the role is narrowed; none means the whole node.
	Namespaces []string `json:"Namespaces,omitempty"`

	// What a cluster says of its users beside that.
	UID   string              `json:"UID,omitempty"`
	Extra map[string][]string `json:"Extra,omitempty"`
}

const (
	ViaProcess   = "process"   // a part of the agent itself
	ViaWorkloads = "workloads" // the part of the agent that runs workloads
	viaSocket    = "socket"
	viaToken     = "token"
	viaSession   = "session"
	viaAnonymous = "anonymous"

	viaCertificate = "certificate"
)

type identityKey struct{}

// NewContext returns a context that carries id.
func NewContext(ctx context.Context, id Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// From returns the identity that a request was authenticated as.
func From(ctx context.Context) (Identity, bool) {
	id, ok := ctx.Value(identityKey{}).(Identity)
	return id, ok
}

// Require returns an error that wraps node.ErrDenied unless the request's identity
// may do verb. A request without an identity may do nothing.
func Require(ctx context.Context, verb Verb) error {
	id, ok := From(ctx)
	if !ok {
		return refuse(codes.PermissionDenied, node.ErrDenied, "an unauthenticated request may not %s", verb.words())
	}
	if !Allow(id.Role, verb) {
		return refuse(codes.PermissionDenied, node.ErrDenied, "%q may not %s: that needs the role %s", id.Name, verb.words(), least(verb))
	}
	return nil
}

// refusal is an error with a kind for our own code and a code for gRPC's, so that it
// reads the same whether or not an interceptor translates errors on the way out.
type refusal struct {
	code codes.Code
	kind error
	text string
}

func refuse(code codes.Code, kind error, format string, args ...any) error {
	return &refusal{code: code, kind: kind, text: fmt.Sprintf(format, args...)}
}

func (r *refusal) Error() string              { return r.text }
func (r *refusal) Unwrap() error              { return r.kind }
func (r *refusal) GRPCStatus() *status.Status { return status.New(r.code, r.text) }
