package auth

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
)

// TokenReviewer knows whose a token is that is none of the node's own.
type TokenReviewer interface {
	// Review returns false for a token of nobody's. The identity has no role here.
	Review(ctx context.Context, token string) (Identity, bool, error)
}

// AccessReviewer knows what somebody may do who has no role on this node.
type AccessReviewer interface {
	Allows(ctx context.Context, id Identity, to Access) (bool, error)
}

// Access is one of Kubernetes' verbs on a part of the node: what a cluster's roles
// are about.
type Access struct{ Verb, Subresource string }

// errNotAsked says that nobody could tell whether a request is allowed.
var errNotAsked = errors.New("the cluster could not be asked")

// permit says whether the request's identity may do what it asks for: by its role
// or, if it has none, by what the cluster lets it do. One of the ways to name it
// is enough there.
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

// elsewhere says that the identity may have rights that this node does not know
// of. A user of this machine is nobody in the cluster, whatever the name.
func (id Identity) elsewhere() bool {
	return id.Name != "" && id.Role == RoleNone && id.Via != viaSocket
}

// wholly are the rights that an API call takes in the cluster's words. Who may
// read all of the node's paths may read here, and who may exec by them may exec;
// what runs on the node is for the node's own roles to say.
func wholly(verb Verb) []Access {
	switch verb {
	case Read:
		return []Access{{"get", "proxy"}}
	case Exec:
		return []Access{{"create", "proxy"}}
	}
	return nil
}
