package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"nodal/node"
)

// Layout says where logs lie:
//
//	<Pods>/<namespace>_<name>_<uid>/<container>/<attempt>.log
//	<Links>/<name>_<namespace>_<container>-<container id>.log   a link to the above
//
// Everything it does below its two roots stays there and goes through no
// symbolic link, even if someone plants one: a pod may have /var/log mounted.
type Layout struct {
	Pods  string // /var/log/pods
	Links string // /var/log/containers
}

// Pod names the pod whose logs are meant.
type Pod struct{ Namespace, Name, UID string }

func (p Pod) dir() (string, error) {
	dir := p.Namespace + "_" + p.Name + "_" + p.UID
	return dir, errors.Join(checkName(p.Namespace), checkName(p.Name), checkName(p.UID))
}

// checkName refuses what could lead out of a directory. Names are validated
// long before; this is the last door.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("name %q in a log path: %w", name, node.ErrInvalid)
	}
	return nil
}

func attemptFile(attempt int) string { return strconv.Itoa(attempt) + ".log" }

// PodDir is the directory of a pod's logs.
func (l Layout) PodDir(pod Pod) (string, error) {
	dir, err := pod.dir()
	return filepath.Join(l.Pods, dir), err
}

// Path is the log of one attempt of a container.
func (l Layout) Path(pod Pod, container string, attempt int) (string, error) {
	dir, err := l.PodDir(pod)
	if err = errors.Join(err, checkName(container)); err != nil {
		return "", err
	}
	return filepath.Join(dir, container, attemptFile(attempt)), nil
}

// enter opens a directory in root and closes root. An os.Root follows links that
// stay within it, so that one pod's directory could stand for another's; comparing
// the name with what was opened rules that out without a race.
func enter(root *os.Root, name string) (*os.Root, error) {
	defer root.Close()
	named, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	dir, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	if err == nil && !os.SameFile(named, opened) {
		err = fmt.Errorf("%q is a symbolic link: %w", name, node.ErrInvalid)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// RemovePod removes all logs of a pod. That there are none is no error.
func (l Layout) RemovePod(pod Pod) error {
	dir, err := pod.dir()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(l.Pods)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		defer root.Close()
		err = root.RemoveAll(dir)
	}
	// What has too long a name to be made is not there.
	if err != nil && !errors.Is(err, syscall.ENAMETOOLONG) {
		return fmt.Errorf("remove logs of pod %q: %w", pod.Name, err)
	}
	return nil
}

// RemoveAttempt removes the log of one attempt and all that was rotated away
// from it. That there is none is no error.
func (l Layout) RemoveAttempt(pod Pod, container string, attempt int) error {
	root, err := l.open(pod, container)
	if err == nil {
		defer root.Close()
		err = removeFiles(root, attemptFile(attempt))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove log %d of container %q: %w", attempt, container, err)
	}
	return nil
}

// open opens the directory of a container's logs.
func (l Layout) open(pod Pod, container string) (*os.Root, error) {
	dir, err := pod.dir()
	if err = errors.Join(err, checkName(container)); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(l.Pods)
	for _, name := range []string{dir, container} {
		if err == nil {
			root, err = enter(root, name)
		}
	}
	return root, err
}

// removeFiles removes base and every sibling whose name begins with base and a dot.
func removeFiles(root *os.Root, base string) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		name := entry.Name()
		if name != base && !strings.HasPrefix(name, base+".") {
			continue
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
