package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// goneMark begins the names of directories whose pods are gone. No UID begins with it.
const goneMark = ".gone-"

// leftovers lists the names of the directories that this node has made for pods for which keep is false, and of those
// that an earlier sweep has renamed. The latter come first.
func (t *Tree) leftovers(keep func(types.UID) bool) ([]string, error) {
	entries, err := os.ReadDir(t.Pods)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("find the remains of deleted pods: %w", err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), goneMark) || t.unused(types.UID(e.Name()), keep) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func (t *Tree) unused(uid types.UID, keep func(types.UID) bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.IsOurs(uid) && t.inUse[uid] == 0 && !keep(uid)
}

// Garbage lists the directories that Sweep would remove.
func (t *Tree) Garbage(_ context.Context, keep func(types.UID) bool) ([]node.Garbage, error) {
	names, err := t.leftovers(keep)
	var all []node.Garbage
	for _, name := range names {
		g := node.Garbage{Kind: node.GarbageFiles, Name: filepath.Join(t.Pods, name), Why: "no pod of this node has this directory"}
		points, err := mountsBelow(g.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // it went meanwhile
			continue
		case err != nil:
			return all, err
		case len(points) > 0:
			g.Why += fmt.Sprintf("; file systems that are mounted below it are unmounted first (%d)", len(points))
		}
		all = append(all, g)
	}
	return all, err
}

// Sweep removes the volumes that this node has made for pods for which keep is false. It renames each directory
// first, so that a pod with the same UID may come back meanwhile.
func (t *Tree) Sweep(ctx context.Context, keep func(types.UID) bool) error {
	names, err := t.leftovers(keep)
	if err != nil {
		return err
	}
	var errs []error
	found := 0
	for _, name := range names {
		dir, err := t.setAside(ctx, name, keep)
		if err == nil && dir == "" {
			continue
		}
		found++
		if err == nil {
			err = unmountAndRemove(ctx, dir)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("remove the remains of uid %s: %w", name, err))
		}
	}
	if t.Swept != nil {
		t.Swept(found-len(errs), len(errs))
	}
	return errors.Join(errs...)
}

// unmountAndRemove removes a directory, and unmounts everything below it first.
func unmountAndRemove(ctx context.Context, dir string) error {
	if err := unmountBelow(dir); err != nil {
		return err
	}
	return removeTree(ctx, dir)
}

// setAside renames a directory that was listed, and returns its new path. Before that CSI drivers take their volumes
// from it: they know them by its name. A directory that an earlier sweep renamed is returned as it is. It returns "" for
// one that is in use by now.
func (t *Tree) setAside(ctx context.Context, name string, keep func(types.UID) bool) (string, error) {
	if strings.HasPrefix(name, goneMark) {
		return filepath.Join(t.Pods, name), nil
	}
	uid := types.UID(name)
	if !t.beginSweep(uid, keep) {
		return "", nil
	}
	defer t.endSweep(uid)
	dir := filepath.Join(t.Pods, name)
	if err := t.unpublish(ctx, dir); err != nil {
		return "", err
	}
	aside := filepath.Join(t.Pods, goneMark+name)
	return aside, os.Rename(dir, aside)
}

// beginSweep keeps volumes of a pod from being laid out, unless one is, or the pod is known by now.
func (t *Tree) beginSweep(uid types.UID, keep func(types.UID) bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.IsOurs(uid) || t.inUse[uid] > 0 || keep(uid) {
		return false
	}
	t.swept[uid] = true
	return true
}

func (t *Tree) endSweep(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.swept, uid)
}
