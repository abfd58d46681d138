package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// goneMark begins the names of directories whose pods are gone. No namespace begins with it.
const goneMark = ".gone-"

// leftovers opens the directory of all logs and lists the directories of the pods that may go, and those that an earlier
// sweep has renamed. The root is nil if there is none.
func (l Layout) leftovers(goes func(types.UID) bool) (root *os.Root, names []string, err error) {
	if root, err = os.OpenRoot(l.Pods); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("find the logs of deleted pods: %w", err)
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		root.Close()
		return nil, nil, fmt.Errorf("find the logs of deleted pods: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if _, uid, ok := podOf(e.Name()); strings.HasPrefix(e.Name(), goneMark) || ok && goes(uid) {
			names = append(names, e.Name())
		}
	}
	return root, names, nil
}

// podOf returns the pod of a directory, as podDir joins them.
func podOf(dir string) (key node.Key, uid types.UID, ok bool) {
	parts := strings.SplitN(dir, "_", 3)
	if len(parts) < 3 || slices.Contains(parts, "") {
		return key, "", false
	}
	return node.Key{Namespace: parts[0], Name: parts[1]}, types.UID(parts[2]), true
}

// Garbage lists the directories that SweepPods would remove.
func (l Layout) Garbage(goes func(types.UID) bool) ([]node.Garbage, error) {
	root, names, err := l.leftovers(goes)
	if root == nil {
		return nil, err
	}
	defer root.Close()
	var all []node.Garbage
	for _, name := range names {
		key, _, _ := podOf(strings.TrimPrefix(name, goneMark))
		all = append(all, node.Garbage{
			Kind: node.GarbageLogs, Name: filepath.Join(l.Pods, name), Key: key, Bytes: sizeOf(root, name),
			Why: "no pod of this node has these logs",
		})
	}
	return all, nil
}

// sizeOf returns the bytes of the files below a directory. A file that goes meanwhile has none.
func sizeOf(root *os.Root, dir string) (sum int64) {
	_ = fs.WalkDir(root.FS(), dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// SweepPods removes the logs of the pods for which goes is true, once they are kept. Several nodes may have their logs in one directory, so
// goes has to know which pods were this node's. A directory is renamed first, and goes is asked again then: a pod with the
// same UID may have come back meanwhile, and its runtime writes into the directory.
func (l Layout) SweepPods(goes func(types.UID) bool) error {
	root, names, err := l.leftovers(goes)
	if root == nil {
		return err
	}
	defer root.Close()
	stay := node.RemainsError{}
	for _, name := range names {
		aside, err := setAside(root, name, goes)
		if err == nil && aside != "" {
			err = l.sweepOne(root, aside, goes)
		}
		if err != nil {
			_, uid, _ := podOf(strings.TrimPrefix(name, goneMark))
			stay[uid] = fmt.Errorf("remove the logs of a deleted pod: %w", err)
		}
	}
	return stay.Err()
}

// sweepOne removes a directory that was renamed. That of a node which is gone from the machine, too, is not kept: its logs
// would be shown to the callers of this one.
func (l Layout) sweepOne(root *os.Root, aside string, goes func(types.UID) bool) error {
	pod := strings.TrimPrefix(aside, goneMark)
	if _, uid, ok := podOf(pod); !ok || !goes(uid) {
		return root.RemoveAll(aside)
	}
	return l.clear(root, aside, pod)
}

// setAside renames a directory that was listed, and returns its new name; empty if its pod has come back.
func setAside(root *os.Root, name string, goes func(types.UID) bool) (string, error) {
	if strings.HasPrefix(name, goneMark) {
		return name, nil
	}
	aside := goneMark + name
	if err := root.Rename(name, aside); err != nil {
		return "", err
	}
	if _, uid, _ := podOf(name); !goes(uid) {
		return "", root.Rename(aside, name)
	}
	return aside, nil
}

// SweepLinks removes links to logs that are no longer there, such as an agent leaves that is killed between the two
// removals. Links to other places are not ours.
func (l Layout) SweepLinks() error {
	root, err := os.OpenRoot(l.Links)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep log links: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return fmt.Errorf("sweep log links: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		if entry.Type() != fs.ModeSymlink || !l.dangles(root, entry.Name()) {
			continue
		}
		if err := root.Remove(entry.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("sweep log links: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (l Layout) dangles(root *os.Root, name string) bool {
	target, err := root.Readlink(name)
	if err != nil || !strings.HasPrefix(target, filepath.Clean(l.Pods)+"/") {
		return false
	}
	_, err = os.Lstat(target)
	return errors.Is(err, fs.ErrNotExist)
}
