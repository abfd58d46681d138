package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"
)

// Ours is the mode bit that marks the directories of pods that this node has made or taken over. Other kubelets may
// have directories beside them, and do not set it: a sweep takes only directories with the mark. A directory gets its
// mark in the step that makes it. For a directory into which only root writes the bit has no other effect. The node's
// files for pods have it too.
const Ours = fs.ModeSticky

// home makes the directory of a pod, and marks it.
func (t *Tree) home(uid types.UID) (string, error) {
	dir, err := t.podDir(uid)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(t.Pods, 0o750); err != nil {
		return "", fmt.Errorf("make the directory of pods: %w", err)
	}
	if err := os.Mkdir(dir, 0o750|Ours); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make the directory of the pod: %w", err)
	}
	return dir, nil
}

// Adopt marks the directory of a pod of this node, if there is one. The directory may be older than the mark, or come
// from the kubelet that this node replaces.
func (t *Tree) Adopt(uid types.UID) error {
	dir, err := t.podDir(uid)
	if err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!info.IsDir() || info.Mode()&Ours != 0) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Chmod(dir, info.Mode()|Ours)
}

// Own returns the UIDs of the pods whose directories this node has made or taken over.
func (t *Tree) Own() (uids []string, err error) {
	entries, err := os.ReadDir(t.Pods)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for pods: %w", err)
	}
	for _, e := range entries {
		if t.IsOurs(types.UID(e.Name())) {
			uids = append(uids, e.Name())
		}
	}
	return uids, nil
}

// IsOurs reports whether this node has made or taken over the directory of a pod.
func (t *Tree) IsOurs(uid types.UID) bool {
	info, err := os.Lstat(filepath.Join(t.Pods, string(uid)))
	return err == nil && info.IsDir() && info.Mode()&Ours != 0
}
