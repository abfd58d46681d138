package certificate

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"nodal/cmd/apisync/retry"
)

// A certificate is replaced when this part of its life is over. Nodes that got
// theirs together do not come back together.
const (
	spent  = 0.7
	spread = 0.2
)

// mostPause is the longest pause between two requests. Somebody has to look at
// each.
const mostPause = 5 * time.Minute

// Keep replaces the certificate in time, and at once if there is none, until the
// context ends. What uses it reads the file again by itself.
func Keep(ctx context.Context, wanted Wanted, api *rest.Config, pair Pair, log *slog.Logger) error {
	for {
		retry.Until(ctx, log, "the node has no new "+wanted.String()+" yet", mostPause, func(ctx context.Context) error {
			due, err := pair.due(wanted)
			if err != nil {
				return err
			}
			if err := sleep(ctx, time.Until(due)); err != nil {
				return err
			}
			return renew(ctx, wanted, api, pair)
		})
		if err := ctx.Err(); err != nil {
			return err
		}
		log.Info("the node has a new " + wanted.String())
	}
}

// due is when the certificate has to be replaced: at once, if there is none or it
// is for something else.
func (p Pair) due(wanted Wanted) (time.Time, error) {
	leaf, err := p.leaf()
	if leaf == nil || wanted.metBy(leaf) != nil {
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
