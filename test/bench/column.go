package main

import (
	"context"
	"fmt"
	"time"

	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/rig"
)

// kubelet runs pods. Post, Edit and Delete hand over what is wanted; only raw
// has done it when they return. Killed tells raw what the others notice.
type kubelet interface {
	Post(ctx context.Context, pods ...pod) error
	Edit(ctx context.Context, p pod) error
	Killed(ctx context.Context, p pod) error
	Delete(ctx context.Context, pods ...pod) error
}

// column is a kubelet with a runtime of its own.
type column struct {
	kubelet
	name    string
	rt      *rig.Runtime
	truth   truth
	process *process // nil: no process, but calls by hand
	web     *web     // its kubelet paths; nil without a process
	lazy    bool     // takes up to a minute to remove what is deleted
	suffix  string   // that it puts behind a pod's name
}

// run posts pods and returns when the last of them started, with the time that
// took.
func (c *column) run(ctx context.Context, pods ...pod) (time.Duration, error) {
	began := time.Now()
	if err := c.Post(ctx, pods...); err != nil {
		return 0, err
	}
	started, err := c.truth.started(ctx, began, pods...)
	return started.Sub(began), err
}

// clear deletes pods and waits, but not for a lazy kubelet to sweep.
func (c *column) clear(ctx context.Context, pods ...pod) error {
	if err := c.Delete(ctx, pods...); err != nil {
		return err
	}
	if c.lazy {
		return c.truth.ended(ctx, pods...)
	}
	return c.truth.gone(ctx, pods...)
}

// pull has the runtime hold images.
func (c *column) pull(ctx context.Context, images ...string) error {
	for _, image := range images {
		spec := &runtimev1.ImageSpec{Image: c.rt.Image(image)}
		if _, err := c.rt.Images().PullImage(ctx, &runtimev1.PullImageRequest{Image: spec}); err != nil {
			return fmt.Errorf("pull %s: %w", image, err)
		}
	}
	return nil
}

// samplesOf is fewer where each takes a minute.
func (c *column) samplesOf(n int) int {
	if c.lazy {
		return min(n, 2)
	}
	return n
}
