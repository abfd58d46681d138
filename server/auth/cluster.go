package auth

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
)

// TokenReviewer identifies tokens that are not the node's own.
type TokenReviewer interface {
	// Review returns false for an unknown token. The identity has no role here.
	Review(ctx context.Context, token string) (Identity, bool, error)
}

// AccessReviewer decides for callers without a role on this node.
type AccessReviewer interface {
	Allows(ctx context.Context, id Identity, to Access) (bool, error)
}

// Access names one of Kubernetes' verbs on a part of this node, as a cluster's roles do. It leaves out the caller and
// the node, which the question to a cluster (cluster/review) has to name too.
type Access struct{ Verb, Subresource string }

// errNotAsked means that the cluster could not decide about a request.
var errNotAsked = errors.New("cannot reach the cluster")

// permit decides whether the request's identity may do what it asks for: by its role or, if
// it has none, by its rights in the cluster. There, a right under any of the names is enough.
func (a *Authenticator) permit(ctx context.Context, verb Verb, names []Access) error {
	denied := Require(ctx, verb)
	id, _ := From(ctx)
	if denied == nil || a.cfg.Access == nil || !id.elsewhere() {
		return denied
	}
	for _, to := range names {
		allowed, err := a.cfg.Access.Allows(ctx, id, to)
		if err != nil {
			a.logFailure("authorization failed", id.Name, err)
			return refuse(codes.Unavailable, errNotAsked, "whether %q may %s nodes/%s: %v", id.Name, to.Verb, to.Subresource, err)
		}
		if allowed {
			return nil
		}
	}
	return denied
}

// elsewhere reports whether the identity may have rights that this node does not know. A
// user of this machine has none in the cluster, whatever the name.
func (id Identity) elsewhere() bool {
	return id.Name != "" && id.Role == RoleNone && id.Via != viaSocket
}

// apiAccesses returns the right in the cluster that an API call needs from a caller without a
// role here: get on nodes/proxy to read, create on it to exec. No right in the cluster opens
// the other verbs.
func apiAccesses(verb Verb) []Access {
	switch verb {
	case Read:
		return []Access{{"get", "proxy"}}
	case Exec:
		return []Access{{"create", "proxy"}}
	}
	return nil
}
