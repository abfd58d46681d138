package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
	"nodal/node/manifest"
	"nodal/reconciler"
	"nodal/sim/cri"
)

// heard wraps the runtime that the reconciler uses, and compares each of its answers with the
// truth.
type heard struct {
	adapter reconciler.Runtime
	witness *witness
}

var _ reconciler.Runtime = (*heard)(nil)

// asked is a call that makes something.
type asked struct {
	from    int // length of the runtime's journal when the call began
	ended   time.Time
	denied  bool // a call failed for certain
	doubted bool // a call ended with an unknown outcome
}

// These functions name what a call makes, the same for the call and for its effect.
func makesSandbox(e cri.Effect) string { return fmt.Sprintf("sandbox %s %d", e.Pod.UID, e.Attempt) }
func makesContainer(e cri.Effect) string {
	return fmt.Sprintf("container %s %s %d", e.Pod.UID, e.Container, e.Attempt)
}
func starts(e cri.Effect) string { return "start " + e.ContainerID }

// Do performs an action and checks the adapter's answer.
func (h *heard) Do(
	ctx context.Context, pod *node.Pod, got *node.Observed, action node.Action,
) (node.Result, error) {
	w := h.witness
	what := ""
	switch a := action.(type) {
	case node.RunSandbox:
		what = makesSandbox(cri.Effect{Pod: cri.Pod{UID: string(pod.UID())}, Attempt: a.Attempt})
	case node.CreateContainer:
		what = makesContainer(cri.Effect{Pod: cri.Pod{UID: string(pod.UID())}, Container: a.Container, Attempt: a.Attempt})
		w.madeFrom(pod, a)
	case node.StartContainer:
		what = starts(cri.Effect{ContainerID: a.ID})
	}
	call := w.begins(what)
	before := w.server.Snapshot()
	result, err := h.adapter.Do(ctx, pod, got, action)
	w.trace.addf("agent: %s for %s: %s %v", action, pod.Key(), result.ID, err)
	w.ends(call, err)
	if errors.Is(err, node.ErrUnknown) {
		w.meet(fmt.Sprintf("open %T", action))
	}
	if err == nil {
		w.check(done(action, result, before, w.server.Snapshot()))
	}
	return result, err
}

// Watch passes the runtime's events on.
func (h *heard) Watch(ctx context.Context, wake func(node.Key), relist func()) error {
	return h.adapter.Watch(ctx, wake, relist)
}

// List looks, and checks that the look shows all that existed unchanged from its beginning to its
// end.
func (h *heard) List(ctx context.Context, only *node.Key) (map[node.Key]*node.Observed, error) {
	before := h.witness.server.Snapshot()
	shown, err := h.adapter.List(ctx, only)
	if err == nil {
		h.witness.check(complete(shown, only, before, h.witness.server.Snapshot()))
	}
	return shown, err
}

// madeFrom records the spec from which a container is about to be made.
func (w *witness) madeFrom(pod *node.Pod, a node.CreateContainer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range node.EveryContainer(&pod.Object.Spec) {
		if c.Name == a.Container {
			w.hashes[instanceID{pod.UID(), a.Container, a.Attempt}] = manifest.HashIn(pod, c)
		}
	}
}

// begins records a call that makes something; of others it keeps nothing.
func (w *witness) begins(what string) *asked {
	call := &asked{from: len(w.server.Journal())}
	w.mu.Lock()
	defer w.mu.Unlock()
	if what != "" {
		w.asked[what] = append(w.asked[what], call)
	}
	return call
}

func (w *witness) ends(call *asked, err error) {
	var failure *node.Failure
	w.mu.Lock()
	defer w.mu.Unlock()
	call.ended = time.Now()
	call.denied = errors.As(err, &failure)
	call.doubted = err != nil && !call.denied
}

// late reports whether an effect came after every call for it had given up.
func (w *witness) late(what string, at time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.asked[what]
	return len(calls) > 0 && !slices.ContainsFunc(calls, func(c *asked) bool {
		return c.ended.IsZero() || !c.ended.Before(at)
	})
}

// denied checks that a call which failed for certain had no effect. An earlier call with an unknown
// outcome may have had it.
func (w *witness) denied(what string, e cri.Effect) {
	if w.lies {
		return
	}
	w.mu.Lock()
	calls := slices.Clone(w.asked[what])
	w.mu.Unlock()
	for i, call := range calls {
		if call.doubted {
			return
		}
		last := i == len(calls)-1
		if call.denied && call.from <= w.seen && (last || w.seen < calls[i+1].from) {
			w.failf("a call failed for certain, and its effect happens: %s", e)
		}
	}
}

// done checks that a call which succeeded had its effect.
func done(action node.Action, result node.Result, before, after cri.Snapshot) error {
	untrue := fmt.Errorf("%s was reported as done, and has no effect", action)
	switch a := action.(type) {
	case node.RunSandbox:
		if b, ok := sandboxIn(after, result.ID); ok && b.Attempt != a.Attempt {
			return untrue
		}
	case node.StartContainer:
		if c, ok := containerIn(after, a.ID); ok && c.State == runtimeapi.ContainerState_CONTAINER_CREATED {
			return untrue
		}
	case node.StopContainer:
		if c, _ := containerIn(after, a.ID); c.Running() {
			return untrue
		}
	case node.StopSandbox:
		if b, _ := sandboxIn(after, a.ID); b.Ready {
			return untrue
		}
	case node.RemoveContainer:
		if _, there := containerIn(after, a.ID); there {
			return untrue
		}
	case node.RemoveSandbox:
		if _, there := sandboxIn(after, a.ID); there {
			return untrue
		}
	case node.InspectContainer:
		was, _ := containerIn(before, a.ID)
		is, there := containerIn(after, a.ID)
		if told := result.Container; there && was.State == is.State && (!same(told, is) ||
			!told.StartedAt.Equal(is.StartedAt) || told.ExitCode != is.ExitCode || !told.FinishedAt.Equal(is.FinishedAt)) {
			return fmt.Errorf("%s reports %+v, want %+v", action, told, is)
		}
	}
	return nil
}

func sandboxIn(s cri.Snapshot, id string) (cri.Sandbox, bool) {
	i := slices.IndexFunc(s.Sandboxes, func(b cri.Sandbox) bool { return b.ID == id })
	if i < 0 {
		return cri.Sandbox{}, false
	}
	return s.Sandboxes[i], true
}

func containerIn(s cri.Snapshot, id string) (cri.Container, bool) {
	i := slices.IndexFunc(s.Containers, func(c cri.Container) bool { return c.ID == id })
	if i < 0 {
		return cri.Container{}, false
	}
	return s.Containers[i], true
}

// same reports whether the look shows a container as it truly is.
func same(told *node.Container, is cri.Container) bool {
	states := map[runtimeapi.ContainerState]node.ContainerState{
		runtimeapi.ContainerState_CONTAINER_CREATED: node.ContainerCreated,
		runtimeapi.ContainerState_CONTAINER_RUNNING: node.ContainerRunning,
		runtimeapi.ContainerState_CONTAINER_EXITED:  node.ContainerExited,
	}
	return told != nil && string(told.UID) == is.Pod.UID && told.Name == is.Name && told.Attempt == is.Attempt &&
		told.State == states[is.State] && told.Hash == is.Annotations["io.kubernetes.container.hash"]
}

// complete checks two rules of a look. It shows each container and sandbox that existed throughout
// and did not change, and it shows nothing under another object's name.
func complete(shown map[node.Key]*node.Observed, only *node.Key, before, after cri.Snapshot) error {
	for _, is := range after.Containers {
		key := node.Key{Namespace: is.Pod.Namespace, Name: is.Pod.Name}
		was, there := containerIn(before, is.ID)
		if !there || was.State != is.State || only != nil && *only != key || is.Pod.UID == foreignUID {
			continue
		}
		found := slices.ContainsFunc(observed(shown, key).Containers, func(c node.Container) bool {
			return c.ID == is.ID && same(&c, is) && c.SandboxID == is.SandboxID
		})
		if !found {
			return fmt.Errorf("a look shows %+v, and all the time there was %+v", observed(shown, key).Containers, is)
		}
	}
	for _, is := range after.Sandboxes {
		key := node.Key{Namespace: is.Pod.Namespace, Name: is.Pod.Name}
		was, there := sandboxIn(before, is.ID)
		if !there || was.Ready != is.Ready || only != nil && *only != key || is.Pod.UID == foreignUID {
			continue
		}
		found := slices.ContainsFunc(observed(shown, key).Sandboxes, func(s node.Sandbox) bool {
			return s.ID == is.ID && string(s.UID) == is.Pod.UID && s.Attempt == is.Attempt &&
				(s.State == node.SandboxReady) == is.Ready
		})
		if !found {
			return fmt.Errorf("a look shows %+v, and all the time there was %+v", observed(shown, key).Sandboxes, is)
		}
	}
	return nil
}

func observed(shown map[node.Key]*node.Observed, key node.Key) *node.Observed {
	if o := shown[key]; o != nil {
		return o
	}
	return &node.Observed{}
}
