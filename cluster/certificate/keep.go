package certificate

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"nodal/cluster/retry"
)

// A certificate is renewed when this part of its life is over. The spread keeps nodes that got theirs together from
// renewing together.
const (
	spent  = 0.7
	spread = 0.2
)

// mostPause is the longest pause between two requests. An administrator may have to approve each.
const mostPause = 5 * time.Minute

// Way returns a client configuration for the issuer of certificates.
type Way func() (*rest.Config, error)

// Or returns a way that uses a kubeconfig, if there is one, once the node's own certificate has expired.
func (w Way) Or(own Pair, kubeconfig string) Way {
	return func() (*rest.Config, error) {
		if valid, err := own.Valid(time.Now()); err != nil || valid || kubeconfig == "" {
			return w()
		}
		return read(kubeconfig)
	}
}

// Keeper renews a certificate before it expires.
type Keeper struct {
	Wanted Wanted
	Way    Way
	Pair   Pair
	Log    *slog.Logger
	// Tell is called after each try with the age of the certificate before; zero if there was none.
	Tell func(age time.Duration, err error)
}

// Run renews the certificate in time, and gets one at once if there is none, until the context ends. Readers of the file
// notice by themselves.
func (k Keeper) Run(ctx context.Context) error {
	alarm := retry.NewAlarm(time.Now)
	var soonest time.Time
	for {
		retry.Until(ctx, k.Log, "cannot renew the "+k.Wanted.String()+" yet", mostPause, func(ctx context.Context) error {
			due, err := k.Pair.due(k.Wanted)
			if err != nil {
				return err
			}
			if due.Before(soonest) {
				due = soonest
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
		// A signer may date a certificate back by more than it is to last. Most of its life is then over at once.
		soonest = time.Now().Add(time.Until(k.Pair.Expires()) / 10)
	}
}

// renew gets another certificate and reports the try.
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

// due returns the time to renew the certificate. The zero time means at once: there is none, or it is for another
// purpose.
func (p Pair) due(wanted Wanted) (time.Time, error) {
	leaf, err := p.leaf()
	if leaf == nil || wanted.metBy(leaf) != nil {
		return time.Time{}, err
	}
	life := leaf.NotAfter.Sub(leaf.NotBefore)
	return leaf.NotBefore.Add(wait.Jitter(time.Duration(spent*float64(life)), spread/spent)), nil
}
