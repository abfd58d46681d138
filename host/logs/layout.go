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

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// Layout says where logs lie:
//
//	<Pods>/<namespace>_<name>_<uid>/<container>/<attempt>.log
//	<Pods>/.kept-<node>/<namespace>_<name>_<uid>/<container>/<attempt>.log   see Kept
//	<Links>/<name>_<namespace>_<container>-<container id>.log   a link to the first
//
// Everything it does below its two roots stays there and goes through no
// symbolic link, even if someone plants one: a pod may have /var/log mounted.
type Layout struct {
	Pods  string // /var/log/pods
	Links string // /var/log/containers
	Kept  *Kept  // takes what is removed; nil removes it from the disk
}

// podDir returns the name of the directory of a pod's logs.
func podDir(key node.Key, uid types.UID) (string, error) {
	dir := key.Namespace + "_" + key.Name + "_" + string(uid)
	return dir, errors.Join(checkName(key.Namespace), checkName(key.Name), checkName(string(uid)))
}

// checkName refuses a name that could lead out of a directory. Names are validated long before; this is the last check.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("name %q in a log path: %w", name, node.ErrInvalid)
	}
	return nil
}

func attemptFile(attempt uint32) string { return strconv.FormatUint(uint64(attempt), 10) + ".log" }

// PodDir returns the directory of a pod's logs.
func (l Layout) PodDir(key node.Key, uid types.UID) (string, error) {
	dir, err := podDir(key, uid)
	return filepath.Join(l.Pods, dir), err
}

// Path returns the file of a run's log.
func (l Layout) Path(run node.LogRun) (string, error) {
	dir, err := l.PodDir(run.Key, run.UID)
	if err = errors.Join(err, checkName(run.Container)); err != nil {
		return "", err
	}
	return filepath.Join(dir, run.Container, attemptFile(run.Attempt)), nil
}

// enter opens a directory in root and closes root. An os.Root follows links that
// stay within it, so that one pod's directory could stand for another's; comparing
// the name with what was opened rules that out without a race.
func enter(root *os.Root, name string) (*os.Root, error) {
	defer root.Close()
	return within(root, name)
}

// within does the same, and leaves root open.
func within(root *os.Root, name string) (*os.Root, error) {
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

// RemovePod removes all logs of a pod, in which nothing runs any more. It succeeds if there are none.
func (l Layout) RemovePod(key node.Key, uid types.UID) error {
	dir, err := podDir(key, uid)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(l.Pods)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		defer root.Close()
		err = l.clear(root, dir, dir)
	}
	// A directory with a name that is too long cannot exist.
	if err != nil && !errors.Is(err, syscall.ENAMETOOLONG) {
		return fmt.Errorf("remove logs of pod %q: %w", key.Name, err)
	}
	return nil
}

// clear removes the directory of a pod, which may have been renamed, once its logs are kept. What cannot be kept does not
// stand in the way: a full disk has no room for a new directory.
func (l Layout) clear(root *os.Root, name, pod string) error {
	if l.Kept != nil {
		l.Kept.takePod(root, name, pod)
	}
	return root.RemoveAll(name)
}

// RemoveRun removes the log of a run and the files that were rotated away from it. It succeeds if there are
// none.
func (l Layout) RemoveRun(run node.LogRun) error {
	root, err := l.open(run)
	if err == nil {
		defer root.Close()
		err = l.clearRun(root, run)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove log %d of container %q: %w", run.Attempt, run.Container, err)
	}
	return nil
}

func (l Layout) clearRun(root *os.Root, run node.LogRun) error {
	base := attemptFile(run.Attempt)
	if l.Kept != nil {
		pod, err := podDir(run.Key, run.UID)
		if err != nil {
			return err
		}
		l.Kept.takeRun(root, pod, run.Container, base)
	}
	return removeFiles(root, base)
}

// open opens the directory of the logs of a run's container.
func (l Layout) open(run node.LogRun) (*os.Root, error) {
	dir, err := podDir(run.Key, run.UID)
	if err = errors.Join(err, checkName(run.Container)); err != nil {
		return nil, err
	}
	return openBelow(l.Pods, dir, run.Container)
}

// openBelow opens a directory below another, by the names on the way.
func openBelow(path string, names ...string) (*os.Root, error) {
	root, err := os.OpenRoot(path)
	for _, name := range names {
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
