package cgroup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

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

	// Ours reports whether a sweep may end the processes of an unknown pod. nil allows it for all.
	Ours func(types.UID) bool
}

// Tree keeps the cgroups of this node's pods. Its methods may be called from any goroutine.
type Tree struct {
	mounts  Mounts
	root    name
	whole   limit.Limits
	ours    func(types.UID) bool
	systemd *systemd // owner of the tree; nil without systemd

	mu   sync.Mutex
	pods map[types.UID]entry
}

// entry is a pod that has a cgroup, or is about to.
type entry struct {
	class corev1.PodQOSClass
	cpu   int64 // that it asks for, in thousandths
}

// newTree makes a Tree without touching the machine.
func newTree(c Config) *Tree {
	t := &Tree{
		mounts: c.Mounts, root: parseRoot(c.Root).child(cmp.Or(c.Name, "kubepods")),
		whole: c.Whole, ours: c.Ours, pods: map[types.UID]entry{},
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
		t.pods[pod.UID] = entryOf(pod)
	}
	for _, class := range t.classes() {
		if err := t.set(ctx, class, t.shared(class)); err != nil {
			return nil, fmt.Errorf("prepare the cgroups of pods: %w", err)
		}
	}
	return t, nil
}

func entryOf(pod *corev1.Pod) entry { return entry{limit.Class(pod), limit.Requested(pod)} }

// shared returns the limits of all pods of a class together. Against others, burstable pods
// weigh as much as all of them request, and best-effort pods nothing.
func (t *Tree) shared(class name) limit.Limits {
	switch class[len(class)-1] {
	case burstable:
		sum := int64(0)
		for _, e := range t.pods {
			if e.class == corev1.PodQOSBurstable {
				sum += e.cpu
			}
		}
		return limit.Limits{CPUShares: limit.CPUShares(sum)}
	case bestEffort:
		return limit.Limits{CPUShares: limit.MinCPUShares}
	}
	return t.whole
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

// Hold changes the limits of all pods together.
func (t *Tree) Hold(ctx context.Context, whole limit.Limits) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if whole == t.whole {
		return nil
	}
	if err := t.set(ctx, t.root, whole); err != nil {
		return fmt.Errorf("change the limits of all pods together: %w", err)
	}
	t.whole = whole
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

// count adds a pod's request to the weight of the cgroups above its own. It makes them again if they were removed.
func (t *Tree) count(ctx context.Context, pod *corev1.Pod) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	old, known := t.pods[pod.UID]
	e := entryOf(pod)
	t.pods[pod.UID] = e
	for _, class := range t.classes() {
		weighs := class[len(class)-1] == burstable && e.class == corev1.PodQOSBurstable && (!known || old != e)
		if !weighs && t.mounts.there(t.path(class)) {
			continue
		}
		if err := t.set(ctx, class, t.shared(class)); err != nil {
			return err
		}
	}
	return nil
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

// discount takes a pod that is gone out of the weight of the cgroups above it.
func (t *Tree) discount(ctx context.Context, uid types.UID) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, known := t.pods[uid]
	delete(t.pods, uid)
	if !known || e.class != corev1.PodQOSBurstable {
		return nil
	}
	class := t.root.child(burstable)
	if !t.mounts.there(t.path(class)) {
		return nil
	}
	return t.set(ctx, class, t.shared(class))
}
