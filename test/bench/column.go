package main

import (
	"context"
	"fmt"
	"time"

	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/process"
	"nodal/test/rig"
)

// kubelet runs pods. Post, Edit and Delete change what is wanted; only raw has it done when they
// return. Killed reports a killed container to raw; real kubelets notice by themselves.
type kubelet interface {
	Post(ctx context.Context, pods ...pod) error
	Edit(ctx context.Context, p pod) error
	Killed(ctx context.Context, p pod) error
	Delete(ctx context.Context, pods ...pod) error
}

// column is one kubelet on a runtime of its own.
type column struct {
	kubelet
	name    string
	rt      *rig.Runtime
	truth   truth
	process *process.Process // nil for raw, which is no process
	web     *web             // the HTTP paths of a kubelet; nil without a process
	lazy    bool             // it takes up to a minute to remove a deleted pod
	suffix  string           // the suffix that it appends to a pod's name
}

// run posts pods, and returns how long it took until the last of them started.
func (c *column) run(ctx context.Context, pods ...pod) (time.Duration, error) {
	began := time.Now()
	if err := c.Post(ctx, pods...); err != nil {
		return 0, err
	}
	started, err := c.truth.started(ctx, began, pods...)
	return started.Sub(began), err
}

// clear deletes pods and waits for that, except for a lazy kubelet.
func (c *column) clear(ctx context.Context, pods ...pod) error {
	if err := c.Delete(ctx, pods...); err != nil {
		return err
	}
	if c.lazy {
		return c.truth.ended(ctx, pods...)
	}
	return c.truth.gone(ctx, pods...)
}

// pull has the runtime pull images.
func (c *column) pull(ctx context.Context, images ...string) error {
	for _, image := range images {
		spec := &runtimev1.ImageSpec{Image: c.rt.Image(image)}
		if _, err := c.rt.Images().PullImage(ctx, &runtimev1.PullImageRequest{Image: spec}); err != nil {
			return fmt.Errorf("pull %s: %w", image, err)
		}
	}
	return nil
}

// samplesOf returns the number of samples: fewer than n where each takes a minute.
func (c *column) samplesOf(n int) int {
	if c.lazy {
		return min(n, 2)
	}
	return n
}
