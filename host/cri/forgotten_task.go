package cri

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
)

// A start whose caller vanishes at the wrong moment makes containerd forget a task that it has made
// (containerd/containerd#11037). To CRI the container failed to start, and CRI can never remove it or its sandbox.
// The service below CRI still knows the task and ends it.
var forgottenTask = regexp.MustCompile(`cannot delete running task ([0-9A-Za-z_.-]+)`)

// remover removes containers and sandboxes.
type remover struct {
	tasks tasks
	log   *slog.Logger
}

// through makes a call that removes something, and ends the forgotten tasks that are in its way.
func (r remover) through(ctx context.Context, call func() error) error {
	for before := ""; ; {
		err := call()
		if err == nil {
			return nil
		}
		found := forgottenTask.FindStringSubmatch(err.Error())
		if found == nil || found[1] == before {
			return err
		}
		before = found[1]
		if failed := r.tasks.End(ctx, before); failed != nil {
			return fmt.Errorf("%w; containerd has forgotten this task, and ending it failed: %w", err, failed)
		}
		r.log.Info("ended a task that containerd had forgotten", "id", before)
	}
}
