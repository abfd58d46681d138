package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"nodal/node/status"
	"nodal/node/store"
)

// onceTimeout bounds how long pods may take to run.
const onceTimeout = 10 * time.Minute

var errSomeFailed = errors.New("not every pod runs")

// runOnce starts the pods that the sources have, waits until each runs or has
// ended, reports them and leaves them running.
func (a *agent) runOnce(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, onceTimeout)
	defer cancel()
	group, working := errgroup.WithContext(ctx)
	a.work(working, group)
	err := a.awaitPods(working)
	cancel()
	if stopped := group.Wait(); stopped != nil && !errors.Is(stopped, context.Canceled) {
		err = errors.Join(err, stopped)
	}
	return errors.Join(err, a.reportPods(out))
}

func (a *agent) awaitPods(ctx context.Context) error {
	select {
	case <-a.sources.Ready():
	case <-ctx.Done():
		return fmt.Errorf("wait for the pod sources: %w", ctx.Err())
	}
	for {
		changed := a.state.Store.Changed()
		views, _ := a.state.Store.Views()
		waiting := slices.ContainsFunc(views, func(v store.View) bool {
			return status.Of(a.site, v.Slot, v.Got).Phase == corev1.PodPending
		})
		if !waiting {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return errSomeFailed
		}
	}
}

// reportPods prints a line for each pod, and fails if one failed.
func (a *agent) reportPods(out io.Writer) error {
	var err error
	views, _ := a.state.Store.Views()
	for _, v := range views {
		s := status.Of(a.site, v.Slot, v.Got)
		if s.Phase == corev1.PodPending || s.Phase == corev1.PodFailed {
			err = errSomeFailed
		}
		fmt.Fprintf(out, "%s\t%s\t%s\n", v.Key, s.Phase, s.PodIP)
	}
	return err
}
