package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"nodal/node"
)

// Files lists all files that are kept.
func (k *Kept) Files() ([]node.LogFile, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.known {
		files, err := k.list()
		if err != nil {
			return nil, fmt.Errorf("list the logs that are kept: %w", err)
		}
		k.files, k.known = files, true
	}
	return slices.Clone(k.files), nil
}

func (k *Kept) list() (all []node.LogFile, err error) {
	root, err := openBelow(k.pods, k.name)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer root.Close()
	pods, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	for _, pod := range pods {
		key, uid, ok := podOf(pod.Name())
		if !ok || !pod.IsDir() {
			continue
		}
		of := node.LogRun{Key: key, UID: uid, Kept: true}
		files, err := filesOf(root, pod.Name(), of, filepath.Join(k.pods, k.name))
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}

// place opens the directory of a log that is kept.
func (k *Kept) place(run node.LogRun) (place, error) {
	pod, err := podDir(run.Key, run.UID)
	if err = errors.Join(err, checkName(run.Container)); err != nil {
		return place{}, err
	}
	base := attemptFile(run.Attempt)
	path := filepath.Join(k.pods, k.name, pod, run.Container, base)
	root, err := openBelow(k.pods, k.name, pod, run.Container)
	if err != nil {
		return place{}, openError(path, err)
	}
	return place{root: root, base: base, path: path}, nil
}

// Remove removes a file that is kept, and the directories that it leaves empty. It succeeds if the file is gone.
func (k *Kept) Remove(file node.LogFile) error {
	pod, err := podDir(file.Run.Key, file.Run.UID)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	root, err := openBelow(k.pods, k.name, pod, file.Run.Container)
	if err == nil {
		err = remove(root, filepath.Base(file.Path))
		root.Close()
	}
	if err = ignoreMissing(err); err != nil {
		return fmt.Errorf("remove a log that is kept: %w", err)
	}
	k.files = slices.DeleteFunc(k.files, func(f node.LogFile) bool { return f.Path == file.Path })
	return k.removeEmpty(pod, file.Run.Container)
}

// removeEmpty removes the directories of a container and of its pod, and that of all logs that are kept, if they are
// empty.
func (k *Kept) removeEmpty(pod, container string) error {
	for names := []string{k.name, pod, container}; len(names) > 0; names = names[:len(names)-1] {
		parent, err := openBelow(k.pods, names[:len(names)-1]...)
		if err == nil {
			err = parent.Remove(names[len(names)-1])
			parent.Close()
		}
		if errors.Is(err, syscall.ENOTEMPTY) {
			return nil
		}
		if err = ignoreMissing(err); err != nil {
			return fmt.Errorf("remove a directory of logs that are kept: %w", err)
		}
	}
	return nil
}

// removeAll removes everything that is kept.
func (k *Kept) removeAll() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known = false
	root, err := os.OpenRoot(k.pods)
	if err == nil {
		defer root.Close()
		err = root.RemoveAll(k.name)
	}
	if err = ignoreMissing(err); err != nil {
		return fmt.Errorf("remove the logs that are kept: %w", err)
	}
	return nil
}

// renameAt renames a file from one open directory to another.
func renameAt(from *os.File, name string, to *os.File, as string) error {
	return unix.Renameat(int(from.Fd()), name, int(to.Fd()), as)
}
