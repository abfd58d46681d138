package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/status"
	"nodal/node/store"
)

// onceTimeout bounds how long pods may take to run.
const onceTimeout = 10 * time.Minute

var errSomeFailed = errors.New("not every pod runs")

// once runs the tasks until each pod that the sources delivered runs or has ended. It reports the pods and leaves
// them running.
func once(ctx context.Context, tasks []task, delivered <-chan struct{}, pods reader, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, onceTimeout)
	defer cancel()
	group, working := errgroup.WithContext(ctx)
	start(working, group, tasks)
	err := pods.await(working, delivered)
	cancel()
	if stopped := group.Wait(); stopped != nil && !errors.Is(stopped, context.Canceled) {
		err = errors.Join(err, stopped)
	}
	return errors.Join(err, pods.report(out))
}

// reader reads the statuses of pods.
type reader struct {
	store *store.Store
	site  node.Site
}

// await waits until the sources have delivered and no pod is pending.
func (r reader) await(ctx context.Context, delivered <-chan struct{}) error {
	select {
	case <-delivered:
	case <-ctx.Done():
		return fmt.Errorf("wait for the pod sources: %w", ctx.Err())
	}
	for {
		changed := r.store.Changed()
		views, _ := r.store.Views()
		waiting := slices.ContainsFunc(views, func(v store.View) bool {
			return status.Of(r.site, v.Slot, v.Got).Phase == corev1.PodPending
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

// report prints a line for each pod, and fails if a pod failed.
func (r reader) report(out io.Writer) error {
	var err error
	views, _ := r.store.Views()
	for _, v := range views {
		s := status.Of(r.site, v.Slot, v.Got)
		if s.Phase == corev1.PodPending || s.Phase == corev1.PodFailed {
			err = errSomeFailed
		}
		fmt.Fprintf(out, "%s\t%s\t%s\n", v.Key, s.Phase, s.PodIP)
	}
	return err
}
