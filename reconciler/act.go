package reconciler

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/assign"
	"nodal/node/limit"
	"nodal/node/storage"
	"nodal/node/store"
)

// Runtime is the container runtime as the reconciler needs it.
type Runtime interface {
	// Do performs one action. A definite failure is a *node.Failure. After an error that wraps node.ErrUnknown the
	// action may have had its effect.
	Do(ctx context.Context, pod *node.Pod, got *node.Observed, a node.Action) (node.Result, error)
	// List observes one key, or all of them.
	List(ctx context.Context, only *node.Key) (map[node.Key]*node.Observed, error)
	// Watch calls wake for each pod that may have changed, until the stream breaks. It returns node.ErrUnsupported
	// if the runtime has no events.
	Watch(ctx context.Context, wake func(node.Key), relist func()) error
}

// Images are the images on the machine.
type Images interface {
	// Ensure makes sure that the image of a container is there, as its pull policy says. Its errors mean the same
	// as those of Runtime.Do.
	Ensure(ctx context.Context, pod *node.Pod, a node.EnsureImage) (node.Result, error)
}

// Hooks runs containers' hooks.
type Hooks interface {
	// Run runs a hook to its end. Its errors mean the same as those of Runtime.Do.
	Run(ctx context.Context, key node.Key, hook node.RunHook) error
}

// Logs owns containers' logs. Log collectors find them by links. Pods do not depend on the links: a link that cannot
// be made or removed is logged there, and no action fails because of it.
type Logs interface {
	// Link makes the link to a run's log, or keeps the one that is there.
	Link(key node.Key, run *node.Container)
	// Unlink removes the link to a run's log.
	Unlink(key node.Key, container, id string)
	// RemovePod removes all logs of a pod.
	RemovePod(key node.Key, uid types.UID) error
	// RemoveRun removes the log of a run.
	RemoveRun(key node.Key, uid types.UID, container string, attempt uint32) error
	// Sweep removes the logs of the pods for which keep is false.
	Sweep(ctx context.Context, keep func(types.UID) bool) error
	// Garbage lists what Sweep would remove.
	Garbage(ctx context.Context, keep func(types.UID) bool) ([]node.Garbage, error)
}

// Cgroups sets the kernel's limits for pods.
type Cgroups interface {
	// SetUp makes a pod's cgroup, or changes its limits.
	SetUp(ctx context.Context, pod *corev1.Pod, limits limit.Limits) error
	// TearDown removes a pod's cgroup, and ends the processes that are left in it.
	TearDown(ctx context.Context, uid types.UID) error
	// Sweep does that for the pods for which keep is false.
	Sweep(ctx context.Context, keep func(types.UID) bool) error
	// Garbage lists what Sweep would tear down.
	Garbage(ctx context.Context, keep func(types.UID) bool) ([]node.Garbage, error)
}

// Volumes owns pods' volumes.
type Volumes interface {
	// SetUp lays out a volume of a pod, or brings it up to date.
	SetUp(ctx context.Context, pod *node.Pod, name string) error
	// TearDown removes all that was laid out for a pod.
	TearDown(ctx context.Context, uid types.UID) error
	// Sweep removes the volumes of the pods for which keep is false.
	Sweep(ctx context.Context, keep func(types.UID) bool) error
	// Garbage lists what Sweep would remove.
	Garbage(ctx context.Context, keep func(types.UID) bool) ([]node.Garbage, error)
}

// Act performs actions, each on the part of the node that it concerns.
type Act struct {
	Store   *store.Store
	Runtime Runtime
	Images  Images
	Hooks   Hooks
	Logs    Logs
	Cgroups Cgroups // nil gives pods no cgroups of their own
	Volumes Volumes
	Devices Devices
	Claims  ClaimDrivers
	Rules   func() *assign.Rules // of assignment, as they are now; nil if plugins are not asked which devices they prefer
	Storage storage.Keeper
	Clock   func() time.Time
	// Freed is called in the transaction that frees a pod's resources. nil disables it.
	Freed func(*store.Tx)
}

// Do performs one action for the pod that owns the key.
func (a Act) Do(
	ctx context.Context, key node.Key, pod *node.Pod, got *node.Observed, action node.Action,
) (node.Result, error) {
	switch action := action.(type) {
	case node.SetTally:
		return node.Result{}, a.setTally(key, pod.UID(), action)
	case node.SetHealth:
		return node.Result{}, a.setHealth(key, pod.UID(), action)
	case node.SetLost:
		return node.Result{}, a.setLost(key, pod.UID(), action)
	case node.AskRestart:
		restart := node.Restart{Container: action.Container, Attempt: action.Attempt}
		return node.Result{}, a.askRestarts(key, pod.UID(), restart)
	case node.StartOver:
		return node.Result{}, a.askRestarts(key, pod.UID(), action.Restarts...)
	case node.SetTermination:
		return node.Result{}, a.setTermination(key, pod.UID(), action)
	case node.SetHalted:
		return node.Result{}, a.setHalted(key, pod.UID())
	case node.SetResult:
		return node.Result{}, a.setResult(key, pod, action)
	case node.Release:
		return node.Result{}, a.release(key, pod)
	case node.SetUp:
		err := a.facility(action.Facility).setUp(ctx, pod, action)
		if err == nil {
			a.tellResized(ctx, pod, got, action)
		}
		return node.Result{}, err
	case node.TearDown:
		return node.Result{}, a.facility(action.Facility).tearDown(ctx, pod)
	case node.EnsureImage:
		return a.Images.Ensure(ctx, pod, action)
	case node.ReadyDevices:
		return node.Result{}, a.readyDevices(ctx, key, pod, action)
	case node.PrepareClaims:
		return node.Result{}, a.prepareClaims(ctx, key, pod, action.Boot)
	case node.UnprepareClaims:
		return node.Result{}, a.unprepareClaims(ctx, key, pod)
	case node.RunHook:
		return node.Result{}, a.Hooks.Run(ctx, key, action)
	case node.RemoveContainer:
		a.Logs.Unlink(key, action.Container, action.ID)
		result, err := a.Runtime.Do(ctx, pod, got, action)
		if err == nil {
			err = a.Logs.RemoveRun(key, action.UID, action.Container, action.Attempt)
		}
		return result, err
	case node.RemoveSandbox:
		a.unlinkAll(key, got, action.ID)
		return a.Runtime.Do(ctx, pod, got, action)
	case node.StartContainer:
		result, err := a.Runtime.Do(ctx, pod, got, action)
		if err == nil {
			result.Container = a.lookAtStarted(ctx, key, pod, got, action)
		}
		return result, err
	case node.InspectSandbox:
		return a.inspect(ctx, pod, got, action)
	case node.InspectContainer:
		result, err := a.inspect(ctx, pod, got, action)
		if err == nil {
			a.link(key, result.Container)
		}
		return result, err
	default:
		return a.Runtime.Do(ctx, pod, got, action)
	}
}

const inspectTimeout = 10 * time.Second

// inspect does not wait long for the answer: the pod stands still meanwhile, and asking again costs nothing.
func (a Act) inspect(ctx context.Context, pod *node.Pod, got *node.Observed, action node.Action) (node.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	return a.Runtime.Do(ctx, pod, got, action)
}

// tellResized tells the runtime the new limits of a resized pod, once its cgroup has them. As in Kubernetes, the resize
// does not depend on the answer: what the runtime does with them is its own affair.
func (a Act) tellResized(ctx context.Context, pod *node.Pod, got *node.Observed, done node.SetUp) {
	if done.Facility != node.Cgroup || pod.Resized.IsZero() || got == nil {
		return
	}
	if home := got.Home(pod.UID()); home != nil && home.State == node.SandboxReady {
		ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
		defer cancel()
		_, _ = a.Runtime.Do(ctx, pod, got, node.ResizeSandbox{ID: home.ID, Limits: done.Part.Limits})
	}
}

// link links the log of a run that has begun. Each agent inspects every run until that succeeds, so after a crash the
// next agent makes the links that are missing.
func (a Act) link(key node.Key, run *node.Container) {
	if run != nil && run.LogPath != "" && (run.State == node.ContainerRunning || run.State == node.ContainerExited) {
		a.Logs.Link(key, run)
	}
}

// unlinkAll removes the links of all runs in a sandbox that is about to be removed. Afterwards the runtime
// would not know their names any more.
func (a Act) unlinkAll(key node.Key, got *node.Observed, sandboxID string) {
	if got == nil {
		return
	}
	for i := range got.Containers {
		if c := &got.Containers[i]; c.SandboxID == sandboxID {
			a.Logs.Unlink(key, c.Name, c.ID)
		}
	}
}

// lookAtStarted inspects a run at once after its start, above all for the time at which it began. Otherwise readers
// would be shown the time of the reply first, and an earlier one later. It returns nil if the run has ended or the
// runtime does not answer; a later step inspects the run then.
func (a Act) lookAtStarted(
	ctx context.Context, key node.Key, pod *node.Pod, got *node.Observed, started node.StartContainer,
) *node.Container {
	look, err := a.Do(ctx, key, pod, got, node.InspectContainer(started))
	if err != nil || look.Container == nil || look.Container.State != node.ContainerRunning {
		return nil
	}
	return look.Container
}

func (a Act) setTally(key node.Key, uid types.UID, action node.SetTally) error {
	return a.Store.Update(key, uid, func(tx *store.Tx, slot *node.Slot) {
		slot.Tallies = maps.Clone(slot.Tallies)
		if slot.Tallies == nil {
			slot.Tallies = map[string]node.Tally{}
		}
		slot.Tallies[action.Container] = action.Tally
		tx.Put(key, slot)
	})
}

func (a Act) setHealth(key node.Key, uid types.UID, action node.SetHealth) error {
	return a.Store.Update(key, uid, func(tx *store.Tx, slot *node.Slot) {
		slot.Health = maps.Clone(slot.Health)
		if slot.Health == nil {
			slot.Health = map[string]node.Health{}
		}
		slot.Health[action.Container] = action.Health
		tx.Put(key, slot)
	})
}

func (a Act) setLost(key node.Key, uid types.UID, action node.SetLost) error {
	return a.Store.Update(key, uid, func(tx *store.Tx, slot *node.Slot) {
		slot.Lost = action.Lost
		tx.Put(key, slot)
	})
}

func (a Act) askRestarts(key node.Key, uid types.UID, restarts ...node.Restart) error {
	return a.Store.Update(key, uid, func(tx *store.Tx, slot *node.Slot) {
		pod := *slot.Pod
		pod.Restarts = node.MergeRestarts(pod.Restarts, restarts)
		slot.Pod = &pod
		tx.Put(key, slot)
	})
}

func (a Act) setTermination(key node.Key, uid types.UID, action node.SetTermination) error {
	return a.Store.Update(key, uid, func(tx *store.Tx, slot *node.Slot) {
		if slot.Closed() {
			return // the first reason stands
		}
		slot.Termination = &action.Termination
		tx.Reserved()
		tx.Put(key, slot)
	})
}

func (a Act) setHalted(key node.Key, uid types.UID) error {
	return a.Store.Update(key, uid, func(tx *store.Tx, slot *node.Slot) {
		if slot.Termination == nil || !slot.Termination.Returns {
			return // the machine stays up after all
		}
		halted := *slot.Termination
		halted.Halted = true
		slot.Termination = &halted
		tx.Put(key, slot)
	})
}

// setResult records how a pod has ended, unless a request for the pod was accepted since the decision. The client was
// promised that request, so the pod is decided on once more.
func (a Act) setResult(key node.Key, pod *node.Pod, action node.SetResult) error {
	return a.Store.Update(key, pod.UID(), func(tx *store.Tx, slot *node.Slot) {
		if t := slot.Termination; slot.Pod != pod || t != nil && action.Status.Reason != t.Reason {
			return
		}
		slot.Result = action.Status
		tx.Put(key, slot)
		a.freed(tx)
	})
}

// release gives the key to the pod that waits for it, or forgets it. A pod that comes back with the same UID keeps its
// restart counts. The claims of both pods are settled in the same transaction.
func (a Act) release(key node.Key, pod *node.Pod) error {
	return a.Store.Update(key, pod.UID(), func(tx *store.Tx, slot *node.Slot) {
		tx.Reserved()
		tx.Put(key, successor(slot))
		if storage.Uses(slot.Pod.Object) || slot.Next != nil && storage.Uses(slot.Next.Object) {
			a.Storage.SettleIn(tx, a.Clock())
		}
		a.freed(tx)
	})
}

func (a Act) freed(tx *store.Tx) {
	if a.Freed != nil {
		a.Freed(tx)
	}
}

func successor(slot *node.Slot) *node.Slot {
	if slot.Next == nil {
		return nil
	}
	next := node.NewSlot(slot.Next)
	if slot.Next.UID() == slot.Pod.UID() {
		next.Tallies = recount(slot, slot.Next)
	}
	return next
}

// recount counts the next run of each container as a restart.
func recount(slot *node.Slot, next *node.Pod) map[string]node.Tally {
	tallies := map[string]node.Tally{}
	for _, c := range next.Object.Spec.Containers {
		tallies[c.Name] = node.Tally{Restarts: slot.Tallies[c.Name].Restarts + 1}
	}
	return tallies
}
