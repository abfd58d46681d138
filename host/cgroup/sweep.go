package cgroup

import (
	"context"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// leftover is the cgroup of a pod that is not known.
type leftover struct {
	name
	uids    []types.UID // of which it may be
	foreign bool        // it may be another kubelet's
}

// leftovers lists the cgroups of the pods for which keep is false. A cgroup that this process has set up is none: it
// will be torn down with its pod.
func (t *Tree) leftovers(keep func(types.UID) bool) ([]leftover, error) {
	var all []leftover
	for _, class := range t.classes() {
		found, err := t.mounts.children(t.path(class))
		if err != nil {
			return nil, err
		}
		for _, dir := range found {
			uids := t.uidsOf(class, dir)
			if len(uids) == 0 || slices.ContainsFunc(uids, keep) || t.knows(class, dir) {
				continue
			}
			foreign := t.ours != nil && !slices.ContainsFunc(uids, t.ours)
			all = append(all, leftover{class.child(podPrefix + string(uids[0])), uids, foreign})
		}
	}
	return all, nil
}

// Sweep tears down the cgroups of the pods for which keep is false.
func (t *Tree) Sweep(ctx context.Context, keep func(types.UID) bool) error {
	left, err := t.leftovers(keep)
	if err != nil {
		return err
	}
	stay := node.RemainsError{}
	for _, l := range left {
		remove := t.remove
		if l.foreign {
			remove = t.removeEmpty
		}
		if err := remove(ctx, l.name); err != nil {
			for _, uid := range l.uids {
				stay[uid] = err
			}
		}
	}
	return stay.Err()
}

// Garbage lists what Sweep would tear down, and what it would leave to another kubelet.
func (t *Tree) Garbage(_ context.Context, keep func(types.UID) bool) ([]node.Garbage, error) {
	left, err := t.leftovers(keep)
	var all []node.Garbage
	for _, l := range left {
		g := node.Garbage{Kind: node.GarbageCgroup, Name: t.path(l.name), Why: "no pod of this node has this cgroup"}
		if l.foreign && t.busy(l.name) {
			g.Kept = "processes run in it, and nothing shows that it is of this node: another kubelet may have made it"
		}
		all = append(all, g)
	}
	return all, err
}

// busy reports whether there are processes in a cgroup, or below it.
func (t *Tree) busy(n name) bool {
	runs := func(dir string) bool { return len(processesIn(dir)) > 0 }
	return slices.ContainsFunc(withChildren(t.mounts.dirs(t.path(n))), runs)
}

// removeEmpty removes a cgroup if it is empty. Otherwise it may be another kubelet's.
func (t *Tree) removeEmpty(ctx context.Context, n name) error {
	if t.busy(n) || removeDirs(t.mounts.dirs(t.path(n))) != nil || t.systemd == nil {
		return nil
	}
	return t.systemd.stop(ctx, n.slice())
}

// knows reports whether a directory in a class's cgroup belongs to a pod of this node.
func (t *Tree) knows(class name, dir string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for uid := range t.pods {
		if path.Base(t.path(class.child(podPrefix+string(uid)))) == dir {
			return true
		}
	}
	return false
}
