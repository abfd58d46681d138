package cgroup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/limit"
)

// Config describes the cgroups of pods.
type Config struct {
	Mounts  Mounts
	Systemd bool         // the tree belongs to systemd
	Root    string       // the parent of all cgroups here: a path, or a slice; empty means the top
	Name    string       // of the cgroup of all pods; empty means kubepods
	Whole   limit.Limits // of all pods together
	Memory  int64        // bytes that are not reserved for other programs than pods
	Keep    bool         // the kernel keeps the memory that pods request; needs version 2
	Reserve int64        // percent of what pods of better classes request that pods of a class may not use

	// Ours reports whether a sweep may end the processes of an unknown pod. nil allows it for all.
	Ours func(types.UID) bool
}

// Tree keeps the cgroups of this node's pods. Its methods may be called from any goroutine.
type Tree struct {
	mounts  Mounts
	root    name
	keep    bool
	reserve int64
	ours    func(types.UID) bool
	systemd *systemd // owner of the tree; nil without systemd

	mu     sync.Mutex
	whole  limit.Limits
	memory int64
	pods   map[types.UID]entry
	asked  map[corev1.PodQOSClass]request // by all pods of a class
	held   map[string]limit.Limits        // of the cgroups that pods share, as they were last set; by path
}

// entry is a pod that has a cgroup, or is about to.
type entry struct {
	class corev1.PodQOSClass
	request
}

// request holds what pods ask for.
type request struct {
	cpu    int64 // in thousandths
	memory int64 // bytes
}

// newTree makes a Tree without touching the machine.
func newTree(c Config) *Tree {
	t := &Tree{
		mounts: c.Mounts, root: parseRoot(c.Root).child(cmp.Or(c.Name, "kubepods")),
		whole: c.Whole, memory: c.Memory, keep: c.Keep, reserve: c.Reserve, ours: c.Ours, pods: map[types.UID]entry{},
		asked: map[corev1.PodQOSClass]request{}, held: map[string]limit.Limits{},
	}
	if c.Systemd {
		t.systemd = newSystemd(c.Mounts.Version)
	}
	return t
}

// Open prepares the cgroups that pods share. The pods that this node has already count until they are torn down.
func Open(ctx context.Context, c Config, pods []*corev1.Pod) (*Tree, error) {
	t := newTree(c)
	for _, pod := range pods {
		t.note(pod.UID, entryOf(pod))
	}
	if err := t.update(ctx); err != nil {
		return nil, fmt.Errorf("prepare the cgroups of pods: %w", err)
	}
	return t, nil
}

func entryOf(pod *corev1.Pod) entry {
	cpu, memory := limit.Requested(pod)
	return entry{limit.Class(pod), request{cpu, memory}}
}

// note counts what a pod requests.
func (t *Tree) note(uid types.UID, e entry) {
	t.forget(uid)
	t.pods[uid] = e
	sum := t.asked[e.class]
	t.asked[e.class] = request{sum.cpu + e.cpu, sum.memory + e.memory}
}

// forget counts it no more.
func (t *Tree) forget(uid types.UID) {
	e, known := t.pods[uid]
	if !known {
		return
	}
	delete(t.pods, uid)
	sum := t.asked[e.class]
	t.asked[e.class] = request{sum.cpu - e.cpu, sum.memory - e.memory}
}

// Kept returns the bytes of memory that the kernel keeps for guaranteed pods for good, and for burstable pods as long as
// it can.
func (t *Tree) Kept() (guaranteed, soft int64) {
	if !t.keep {
		return 0, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked[corev1.PodQOSGuaranteed].memory, t.asked[corev1.PodQOSBurstable].memory
}

// shared returns the limits of all pods of a class together. Against others, burstable pods
// weigh as much as all of them request, and best-effort pods nothing. The kernel keeps no more
// memory for a cgroup than for those above it. A class may be bound to what the better ones leave.
func (t *Tree) shared(class name) limit.Limits {
	guaranteed, soft := t.asked[corev1.PodQOSGuaranteed], t.asked[corev1.PodQOSBurstable]
	l := t.whole
	switch class[len(class)-1] {
	case burstable:
		l = limit.Limits{CPUShares: limit.CPUShares(soft.cpu)}
		if t.keep {
			l.MemoryLow = soft.memory
		}
		l.Memory = t.left(guaranteed.memory)
		return l
	case bestEffort:
		return limit.Limits{CPUShares: limit.MinCPUShares, Memory: t.left(guaranteed.memory, soft.memory)}
	}
	if t.keep {
		l.MemoryMin, l.MemoryLow = guaranteed.memory+soft.memory, soft.memory
	}
	return l
}

// left returns the memory that is left for a class by the better ones, or zero for no bound.
func (t *Tree) left(requested ...int64) int64 {
	if t.reserve == 0 || t.memory == 0 {
		return 0
	}
	left := t.memory
	for _, bytes := range requested {
		left -= bytes * t.reserve / 100
	}
	return max(left, leastMemory)
}

// leastMemory is a bound that is none for the kernel to refuse: zero would mean no bound here.
const leastMemory = 1 << 20

// spare raises a bound that a cgroup exceeds already to what it uses: so it gets no more, and none of its processes is
// ended for it.
func (t *Tree) spare(path string, l limit.Limits) limit.Limits {
	if l.Memory > 0 && t.reserve > 0 {
		l.Memory = max(l.Memory, t.mounts.usage(path))
	}
	return l
}

// update brings the cgroups that pods share up to the pods that there are. It makes them again if they were removed.
func (t *Tree) update(ctx context.Context) error {
	for _, class := range t.classes() {
		path := t.path(class)
		want := t.shared(class)
		if len(class) > len(t.root) {
			want = t.spare(path, want)
		}
		if held, known := t.held[path]; known && held == want && t.mounts.there(path) {
			continue
		}
		delete(t.held, path)
		err := t.set(ctx, class, want)
		if t.reserve > 0 && errors.Is(err, syscall.EBUSY) {
			continue // it has grown meanwhile; the next update tries again
		}
		if err != nil {
			return err
		}
		t.held[path] = want
	}
	return nil
}

// set makes a cgroup, or changes its limits.
func (t *Tree) set(ctx context.Context, n name, l limit.Limits) error {
	if t.systemd != nil {
		if err := t.systemd.start(ctx, n.slice(), l); err != nil {
			return err
		}
	}
	if err := t.mounts.make(t.path(n)); err != nil {
		return err
	}
	return t.mounts.bound(t.path(n), l)
}

// Hold changes the limits of all pods together, and how much memory there is for them. It also tries once more to
// bind classes that have used too much.
func (t *Tree) Hold(ctx context.Context, whole limit.Limits, memory int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.whole, t.memory = whole, memory
	if err := t.update(ctx); err != nil {
		return fmt.Errorf("change the limits of all pods together: %w", err)
	}
	return nil
}

// Parent returns the cgroup parent for the runtime, so that a pod's sandbox and containers are
// made in the pod's cgroup.
func (t *Tree) Parent(pod *corev1.Pod) string {
	n := t.classOf(limit.Class(pod)).child(podPrefix + string(pod.UID))
	if t.systemd != nil {
		return n.slice()
	}
	return n.files()
}

// Path returns the place of a pod's cgroup below each of Mounts.Dirs.
func (t *Tree) Path(pod *corev1.Pod) string {
	return t.path(t.classOf(limit.Class(pod)).child(podPrefix + string(pod.UID)))
}

// Root returns the place of the cgroup of all pods below each of Mounts.Dirs.
func (t *Tree) Root() string { return t.path(t.root) }

// SetUp makes a pod's cgroup, or changes its limits.
func (t *Tree) SetUp(ctx context.Context, pod *corev1.Pod, limits limit.Limits) error {
	if err := t.setUp(ctx, pod, limits); err != nil {
		return &node.Failure{Reason: node.FailedCreateCgroup, Err: fmt.Errorf("set up the pod's cgroup: %w", err)}
	}
	return nil
}

func (t *Tree) setUp(ctx context.Context, pod *corev1.Pod, limits limit.Limits) error {
	word, err := podWord(pod.UID)
	if err != nil {
		return err
	}
	if err := t.count(ctx, pod); err != nil {
		return err
	}
	return t.set(ctx, t.classOf(limit.Class(pod)).child(word), limits)
}

// count adds a pod's requests to what the cgroups above its own have.
func (t *Tree) count(ctx context.Context, pod *corev1.Pod) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(pod.UID, entryOf(pod))
	return t.update(ctx)
}

// TearDown removes a pod's cgroup, and ends the processes in it.
func (t *Tree) TearDown(ctx context.Context, uid types.UID) error {
	if err := t.tearDown(ctx, uid); err != nil {
		return &node.Failure{Reason: node.FailedKill, Err: fmt.Errorf("tear down the pod's cgroup: %w", err)}
	}
	return nil
}

func (t *Tree) tearDown(ctx context.Context, uid types.UID) error {
	word, err := podWord(uid)
	if err != nil {
		return nil // no pod can have had such a name
	}
	for _, class := range t.classes() {
		if err := t.remove(ctx, class.child(word)); err != nil {
			return err
		}
	}
	return t.discount(ctx, uid)
}

func (t *Tree) remove(ctx context.Context, n name) error {
	path := t.path(n)
	if len(t.mounts.dirs(path)) == 0 {
		return nil
	}
	if t.systemd == nil {
		return t.mounts.remove(ctx, path)
	}
	// systemd removes an empty slice, and says nothing of others.
	if err := end(t.mounts.dirs(path)); err != nil {
		return err
	}
	return errors.Join(t.systemd.stop(ctx, n.slice()), t.mounts.remove(ctx, path))
}

// discount takes a pod that is gone out of what the cgroups above it have.
func (t *Tree) discount(ctx context.Context, uid types.UID) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(uid)
	if !t.mounts.there(t.path(t.root)) {
		return nil // the next pod makes them again
	}
	return t.update(ctx)
}
