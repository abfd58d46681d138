package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"nodal/node"
)

// maxFileName is the longest file name that Linux file systems take.
const maxFileName = 255

// linkName returns the name that log collectors parse. A name that is too long for a file is cut off at its end, as
// Kubernetes does.
func linkName(key node.Key, container, containerID string) (string, error) {
	const suffix = ".log"
	name := key.Name + "_" + key.Namespace + "_" + container + "-" + containerID
	name = name[:min(len(name), maxFileName-len(suffix))] + suffix
	return name, errors.Join(checkName(key.Name), checkName(key.Namespace),
		checkName(container), checkName(containerID))
}

// Link makes the link by which log collectors find the log at target, which is
// usually what Path returned. A link of that name to elsewhere is replaced.
func (l Layout) Link(key node.Key, container, containerID, target string) error {
	name, err := linkName(key, container, containerID)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.Links, 0o755); err != nil {
		return fmt.Errorf("make directory of log links: %w", err)
	}
	root, err := os.OpenRoot(l.Links)
	if err != nil {
		return fmt.Errorf("link log: %w", err)
	}
	defer root.Close()
	if old, err := root.Readlink(name); err == nil && old == target {
		return nil
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace log link: %w", err)
	}
	if err := root.Symlink(target, name); err != nil {
		return fmt.Errorf("link log: %w", err)
	}
	return nil
}

// Unlink removes the link that Link made. It succeeds if there is none.
func (l Layout) Unlink(key node.Key, container, containerID string) error {
	name, err := linkName(key, container, containerID)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(l.Links)
	if err == nil {
		defer root.Close()
		err = root.Remove(name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove log link: %w", err)
	}
	return nil
}
