package adapter

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
	"nodal/node/manifest"
	"nodal/node/status"
	"nodal/node/store"
	"nodal/sim/cri"
)

// unsettled returns the first promise that is not yet kept, or nil.
func (r *run) unsettled() error {
	if r.agent == nil || r.agent.session.over() || !r.agent.told {
		return errors.New("no agent is at work")
	}
	truth := r.server.Snapshot()
	views, _ := r.agent.store.Views()
	for _, v := range views {
		if r.witness.wanted[v.Key] == nil {
			return fmt.Errorf("pod %s is not wanted and not forgotten", v.Key)
		}
	}
	if err := r.leftovers(truth); err != nil {
		return err
	}
	for _, l := range r.witness.wanted {
		view, ok := r.agent.store.View(l.key)
		if !ok || view.Slot.Pod.UID() != l.uid || view.Slot.Next != nil {
			return fmt.Errorf("pod %s was accepted and does not hold its name", l.key)
		}
		if l.robbed {
			continue
		}
		if err := errors.Join(r.kept(l, view, truth), r.shown(l, view, truth)); err != nil {
			return fmt.Errorf("pod %s: %w", l.key, err)
		}
	}
	return nil
}

// leftovers returns an error if anything in the runtime belongs to no pod.
func (r *run) leftovers(truth cri.Snapshot) error {
	for _, b := range truth.Sandboxes {
		if !r.wants(b.Pod) {
			return fmt.Errorf("a sandbox of %s is left over", b.Pod)
		}
	}
	for _, c := range truth.Containers {
		if !r.wants(c.Pod) {
			return fmt.Errorf("container %s of %s is left over", c.Name, c.Pod)
		}
	}
	return nil
}

func (r *run) wants(pod cri.Pod) bool {
	l := r.witness.wanted[node.Key{Namespace: pod.Namespace, Name: pod.Name}]
	return pod.UID == foreignUID || l != nil && string(l.uid) == pod.UID
}

// kept returns the first promise to a wanted pod that is not yet kept.
func (r *run) kept(l *life, view store.View, truth cri.Snapshot) error {
	home := ""
	for _, b := range truth.Sandboxes {
		if b.Ready && b.Pod.UID == string(l.uid) {
			home = b.ID
		}
	}
	if view.Slot.Result != nil {
		for _, c := range truth.Containers {
			if c.Running() && c.Pod.UID == string(l.uid) {
				return fmt.Errorf("it has ended and container %s runs", c.Name)
			}
		}
		return nil
	}
	if home == "" {
		return errors.New("it has no sandbox")
	}
	for i := range l.object.Spec.Containers {
		c := &l.object.Spec.Containers[i]
		if err := alive(l, c, newest(truth, l, c.Name), home); err != nil {
			return err
		}
	}
	return nil
}

// newest returns the last run of a container.
func newest(truth cri.Snapshot, l *life, name string) (last cri.Container) {
	for _, c := range truth.Containers {
		if c.Pod.UID == string(l.uid) && c.Name == name && (last.ID == "" || c.Attempt > last.Attempt) {
			last = c
		}
	}
	return last
}

// slack bounds the delay of a restart.
const slack = 5 * time.Second

// alive checks the promise of a container: the wanted version runs, has ended for good, or waits
// for its next run.
func alive(l *life, c *corev1.Container, run cri.Container, home string) error {
	switch reruns := node.Rerun(&l.object.Spec, c, run.ExitCode); {
	case run.ID == "":
		return fmt.Errorf("container %s was never made", c.Name)
	case run.State == runtimeapi.ContainerState_CONTAINER_EXITED && !reruns:
		return nil
	case !manifest.IsHashOf(run.Annotations["io.kubernetes.container.hash"], c):
		return fmt.Errorf("container %s is not of the wanted version", c.Name)
	case run.Running() && run.SandboxID != home:
		return fmt.Errorf("container %s runs in a lost sandbox", c.Name)
	case run.Running():
		if asked, ok := l.restarts[c.Name]; ok && run.Attempt <= asked {
			return fmt.Errorf("container %s was not restarted", c.Name)
		}
		return nil
	case ends(c) && run.FinishedAt.Add(site().BackoffMax+slack).After(time.Now()):
		return nil
	}
	return fmt.Errorf("container %s, attempt %d, is %s", c.Name, run.Attempt, run.State)
}

// shown checks that readers see each container's newest run as it is.
func (r *run) shown(l *life, view store.View, truth cri.Snapshot) error {
	if r.restless() {
		return nil // it may change at any moment
	}
	told := status.Of(site(), view.Slot, view.Got)
	for _, s := range told.ContainerStatuses {
		run := newest(truth, l, s.Name)
		var began, ended time.Time
		code := int32(0)
		if running := s.State.Running; running != nil {
			began = running.StartedAt.Time
		}
		if end := s.State.Terminated; end != nil {
			began, ended, code = end.StartedAt.Time, end.FinishedAt.Time, end.ExitCode
		}
		if !strings.HasSuffix(s.ContainerID, run.ID) || code != run.ExitCode ||
			!sameSecond(began, run.StartedAt) || !sameSecond(ended, run.FinishedAt) {
			return fmt.Errorf("container %s is %+v, and readers see %+v", s.Name, run, s)
		}
	}
	return nil
}

// sameSecond reports whether two times are equal to readers: records keep whole seconds.
func sameSecond(a, b time.Time) bool { return a.Truncate(time.Second).Equal(b.Truncate(time.Second)) }

// ends reports whether a container exits by itself or cannot start.
func ends(c *corev1.Container) bool { return c.Command[0] == "exit" || c.Command[0] == "no-start" }

// restless reports whether a container exits by itself, so that work never ends.
func (r *run) restless() bool {
	for _, l := range r.witness.wanted {
		for c := range node.Containers(&l.object.Spec) {
			if ends(c) && node.InitContainer(&l.object.Spec, c.Name) == nil {
				return true
			}
		}
	}
	return false
}
