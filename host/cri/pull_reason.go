package cri

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/status"

	"nodal/node"
)

// reasonWait limits how long a pull that has failed waits for the registry's own reason: containerd gives up a
// connection after half a minute.
const reasonWait = 45 * time.Second

// resolver looks an image up at its registry.
type resolver interface {
	Resolve(ctx context.Context, ref, hosts string, as *node.Credential) error
}

// pullReason returns why a pull failed, as the image's own registry tells it. Containerd asks the node's store of
// imported images first, and of several hosts it tells the "not found" before a registry that does not answer, or that
// wants a credential. So what was not found is looked up again without the store.
func (i *Images) pullReason(ctx context.Context, err error, ref string, as *node.Credential) error {
	if !missing(err) || i.conn.registries == "" {
		return advise(err, as)
	}
	ctx, cancel := context.WithTimeout(ctx, reasonWait)
	defer cancel()
	why := i.conn.resolver.Resolve(ctx, ref, i.conn.registries, as)
	if why == nil || !strings.HasPrefix(status.Convert(why).Message(), "failed to resolve image") {
		// An older containerd cannot tell, or the registry has the image by now.
		return fmt.Errorf("%w: it was not imported, and its registry does not have it or was not reached", answer{err})
	}
	if missing(why) {
		return fmt.Errorf("%w: its registry answered, and does not have this manifest (manifest unknown)", answer{why})
	}
	return advise(why, as)
}

// advise adds what is to be done about a registry that refuses to be read.
func advise(err error, as *node.Credential) error {
	text := status.Convert(err).Message()
	denied := false
	for _, sign := range []string{"401 Unauthorized", "authorization failed", "pull access denied", "no basic auth"} {
		denied = denied || strings.Contains(text, sign)
	}
	switch {
	case !denied:
		return answer{err}
	case as == nil:
		return fmt.Errorf("%w: 401 unauthorized: the pull had no credentials; name a secret in imagePullSecrets", answer{err})
	}
	return fmt.Errorf("%w: the registry refused the credentials of user %q", answer{err}, as.Username)
}
