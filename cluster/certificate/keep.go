package certificate

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"nodal/cluster/retry"
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

// Way returns a client configuration with which to reach the issuer of certificates.
type Way func() (*rest.Config, error)

// Or uses a kubeconfig, if there is one, once the node's own certificate has expired: the
// cluster no longer accepts the node by that.
func (w Way) Or(own Pair, kubeconfig string) Way {
	return func() (*rest.Config, error) {
		if valid, err := own.Valid(time.Now()); err != nil || valid || kubeconfig == "" {
			return w()
		}
		return read(kubeconfig)
	}
}

// Keeper replaces a certificate before it runs out.
type Keeper struct {
	Wanted Wanted
	Way    Way
	Pair   Pair
	Log    *slog.Logger
	// Tell is called after each try with the age of the certificate that was replaced; zero
	// if there was none.
	Tell func(age time.Duration, err error)
}

// Run replaces the certificate in time, and at once if there is none, until the context
// ends. Its users read the file again by themselves.
func (k Keeper) Run(ctx context.Context) error {
	alarm := retry.NewAlarm(time.Now)
	for {
		retry.Until(ctx, k.Log, "cannot renew the "+k.Wanted.String()+" yet", mostPause, func(ctx context.Context) error {
			due, err := k.Pair.due(k.Wanted)
			if err != nil {
				return err
			}
			if err := alarm.Sleep(ctx, time.Until(due)); err != nil {
				return err
			}
			return k.renew(ctx)
		})
		if err := ctx.Err(); err != nil {
			return err
		}
		k.Log.Info("received a new " + k.Wanted.String())
	}
}

// renew gets another certificate, and says so.
func (k Keeper) renew(ctx context.Context) error {
	age := time.Duration(0)
	if old, err := k.Pair.leaf(); err == nil && old != nil {
		age = time.Since(old.NotBefore)
	}
	api, err := k.Way()
	if err == nil {
		err = renew(ctx, k.Wanted, api, k.Pair)
	}
	if ctx.Err() == nil {
		k.Tell(age, err)
	}
	return err
}

// due returns when the certificate has to be replaced: at once, if there is none or if it
// is for another purpose.
func (p Pair) due(wanted Wanted) (time.Time, error) {
	leaf, err := p.leaf()
	if leaf == nil || wanted.metBy(leaf) != nil {
		return time.Time{}, err
	}
	life := leaf.NotAfter.Sub(leaf.NotBefore)
	return leaf.NotBefore.Add(wait.Jitter(time.Duration(spent*float64(life)), spread/spent)), nil
}
