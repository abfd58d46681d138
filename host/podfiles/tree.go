package podfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"nodal/node"
)

// Names below the directory of a pod, as every kubelet has them.
const (
	hostsFile     = "etc-hosts"
	containersDir = "containers"
)

// Tree is the place of all pods' files.
type Tree struct {
	Root string      // such as /var/lib/kubelet/pods
	Mark fs.FileMode // is on the directories of pods that this node has made
}

// Run names one run of a container.
type Run struct {
	UID       string // of its pod
	Container string
	Attempt   uint32
}

func (r Run) dir() string  { return filepath.Join(r.UID, containersDir, r.Container) }
func (r Run) file() string { return filepath.Join(r.dir(), strconv.FormatUint(uint64(r.Attempt), 10)) }

func (r Run) check() error { return errors.Join(checkName(r.UID), checkName(r.Container)) }

// checkName refuses a name that could lead out of a directory.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("name %q in the path of a pod's file: %w", name, node.ErrInvalid)
	}
	return nil
}

// WriteHosts writes the pod's hosts file, and returns its path. It writes in place: containers have this very file
// mounted.
func (t Tree) WriteHosts(uid, text string) (string, error) {
	if err := checkName(uid); err != nil {
		return "", err
	}
	root, err := t.open()
	if err != nil {
		return "", err
	}
	defer root.Close()
	name := filepath.Join(uid, hostsFile)
	old, err := readStart(root, name, len(text)+1)
	if err == nil && string(old) == text {
		return filepath.Join(t.Root, name), nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = t.makePod(uid)
	}
	if err == nil {
		err = root.WriteFile(name, []byte(text), 0o644)
	}
	if err == nil {
		err = root.Chmod(name, 0o644) // whatever the process' umask: all users resolve names
	}
	if err != nil {
		return "", fmt.Errorf("write the pod's hosts file: %w", err)
	}
	return filepath.Join(t.Root, name), nil
}

// makePod makes the directory of a pod.
func (t Tree) makePod(uid string) error {
	err := os.Mkdir(filepath.Join(t.Root, uid), 0o750|t.Mark) // a Root sets no such bits
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// open opens the root, which is made when the first pod needs it.
func (t Tree) open() (*os.Root, error) {
	if err := os.MkdirAll(t.Root, 0o750); err != nil {
		return nil, fmt.Errorf("make the directory of pods' files: %w", err)
	}
	root, err := os.OpenRoot(t.Root)
	if err != nil {
		return nil, fmt.Errorf("open the directory of pods' files: %w", err)
	}
	return root, nil
}

// RemoveRun removes the files of one run, if there are any.
func (t Tree) RemoveRun(run Run) error {
	return t.remove("run "+run.Container, run.check, func(root *os.Root) error { return root.Remove(run.file()) })
}

// RemovePod removes the files of a pod, if there are any.
func (t Tree) RemovePod(uid string) error {
	check := func() error { return checkName(uid) }
	return t.remove("pod "+uid, check, func(root *os.Root) error {
		err := errors.Join(
			root.RemoveAll(filepath.Join(uid, containersDir)),
			root.RemoveAll(filepath.Join(uid, hostsFile)),
		)
		if err != nil {
			return err
		}
		// If it is not empty, other packages have files in it.
		_ = root.Remove(uid)
		return nil
	})
}

func (t Tree) remove(what string, check func() error, remove func(*os.Root) error) error {
	if err := check(); err != nil {
		return err
	}
	root, err := os.OpenRoot(t.Root)
	if err == nil {
		defer root.Close()
		err = remove(root)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the files of %s: %w", what, err)
	}
	return nil
}
