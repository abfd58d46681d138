package node

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Kubernetes' terms for a run whose end is unknown.
const (
	reasonUnknownEnd = "ContainerStatusUnknown"
	messageLost      = "the container vanished from the runtime; how it ended is unknown"
	exitCodeUnknown  = 137
)

// UnknownEnd returns the end of a run that is only known to have existed.
func UnknownEnd() *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{ExitCode: exitCodeUnknown, Reason: reasonUnknownEnd, Message: messageLost}
}

// Miss notes which runs of an older observation are gone from this one without having been
// removed here. They count like any other run: a known end stays known, and a run that was
// alive has ended unseen. A run that was never started leaves nothing.
func (o *Observed) Miss(old *Observed, now time.Time) {
	o.Lost = slices.Clone(old.Lost)
	for _, was := range old.Containers {
		there := func(c Container) bool { return c.ID == was.ID }
		if was.State == ContainerCreated || slices.ContainsFunc(o.Containers, there) {
			continue
		}
		if was.State != ContainerExited || !was.Inspected {
			was.State, was.Inspected, was.FinishedAt = ContainerExited, true, old.latestEnd(was, now)
			was.ExitCode, was.Reason, was.Message = exitCodeUnknown, reasonUnknownEnd, messageLost
		}
		o.lose(was)
	}
}

// latestEnd bounds the unknown end of a run: the run had ended when the next run of the container
// was made, or has ended by now.
func (o *Observed) latestEnd(run Container, now time.Time) time.Time {
	latest := now
	for _, c := range o.Containers {
		next := c.UID == run.UID && c.Name == run.Name && c.Attempt > run.Attempt
		if next && !c.CreatedAt.IsZero() && c.CreatedAt.Before(latest) {
			latest = c.CreatedAt
		}
	}
	return latest
}

// lose keeps the newest of the lost runs of each container.
func (o *Observed) lose(run Container) {
	i := slices.IndexFunc(o.Lost, func(c Container) bool { return c.UID == run.UID && c.Name == run.Name })
	switch {
	case i < 0:
		o.Lost = append(o.Lost, run)
	case o.Lost[i].Attempt < run.Attempt:
		o.Lost[i] = run
	}
}
