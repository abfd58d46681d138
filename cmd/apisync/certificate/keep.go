package certificate

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

// A certificate is replaced when this part of its life is over. Nodes that got
// theirs together do not come back together.
const (
	spent  = 0.7
	spread = 0.2
)

// Keep replaces the certificate in time until the context ends. What speaks to
// the cluster with it reads the file again by itself.
func Keep(ctx context.Context, nodeName string, api *rest.Config, pair Pair, log *slog.Logger) error {
	for {
		err := retry(ctx, log, func(ctx context.Context) error {
			due, err := pair.due()
			if err != nil {
				return err
			}
			if err := sleep(ctx, time.Until(due)); err != nil {
				return err
			}
			return renew(ctx, nodeName, api, pair)
		})
		if err != nil {
			return err
		}
		log.Info("the node has a new client certificate")
	}
}

// due is when the certificate has to be replaced: at once, if there is none.
func (p Pair) due() (time.Time, error) {
	leaf, err := p.leaf()
	if leaf == nil {
		return time.Time{}, err
	}
	life := leaf.NotAfter.Sub(leaf.NotBefore)
	return leaf.NotBefore.Add(wait.Jitter(time.Duration(spent*float64(life)), spread/spent)), nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
