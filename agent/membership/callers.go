package membership

import (
	"context"
	"errors"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"

	"nodal/cluster/review"
	"nodal/server/auth"
)

// callers asks the cluster about callers that the node does not know.
type callers struct {
	nodeName string
	reviewer atomic.Pointer[review.Reviewer] // nil until the node has joined
}

var (
	_ auth.TokenReviewer  = (*callers)(nil)
	_ auth.AccessReviewer = (*callers)(nil)
)

var errNotJoined = errors.New("the node has not joined its cluster yet")

// Review returns the identity of a token.
func (c *callers) Review(ctx context.Context, token string) (auth.Identity, bool, error) {
	r := c.reviewer.Load()
	if r == nil {
		return auth.Identity{}, false, errNotJoined
	}
	user, ok, err := r.Owner(ctx, token)
	id := auth.Identity{Name: user.Username, Groups: user.Groups, UID: user.UID, Via: "token"}
	for key, values := range user.Extra {
		if id.Extra == nil {
			id.Extra = map[string][]string{}
		}
		id.Extra[key] = values
	}
	return id, ok, err
}

// Allows reports whether the cluster grants an identity this access to the node.
func (c *callers) Allows(ctx context.Context, id auth.Identity, to auth.Access) (bool, error) {
	r := c.reviewer.Load()
	if r == nil {
		return false, errNotJoined
	}
	return r.May(ctx, review.Question{
		User: id.Name, Groups: id.Groups, UID: id.UID, Extra: id.Extra,
		Resource: review.Resource{
			Verb: to.Verb, Version: corev1.SchemeGroupVersion.Version,
			Resource: "nodes", Subresource: to.Subresource, Name: c.nodeName,
		},
	})
}
