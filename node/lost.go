package node

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// What is told of a run of which nobody knows how it ended, in Kubernetes' terms.
const (
	reasonUnknownEnd = "ContainerStatusUnknown"
	messageLost      = "the container vanished from the runtime and nobody saw how it ended"
	exitCodeUnknown  = 137
)

// UnknownEnd is what is told of a run of which nothing is left but that it was.
func UnknownEnd() *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{ExitCode: exitCodeUnknown, Reason: reasonUnknownEnd, Message: messageLost}
}

// Miss notes which runs of an older observation are gone from this one though
// nobody here removed them. They count like any other run: what was known of
// their end stays known, and a run that was alive has ended unseen. One that was
// never started leaves nothing.
func (o *Observed) Miss(old *Observed, now time.Time) {
	o.Lost = slices.Clone(old.Lost)
	for _, was := range old.Containers {
		there := func(c Container) bool { return c.ID == was.ID }
		if was.State == ContainerCreated || slices.ContainsFunc(o.Containers, there) {
			continue
		}
		if was.State != ContainerExited || !was.Inspected {
			was.State, was.Inspected, was.FinishedAt = ContainerExited, true, now
			was.ExitCode, was.Reason, was.Message = exitCodeUnknown, reasonUnknownEnd, messageLost
		}
		o.lose(was)
	}
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
