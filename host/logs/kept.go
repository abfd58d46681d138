package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"nodal/node"
)

// Kept holds the logs of deleted pods, and of runs that were removed while their pod lives on. They lie below the
// directory of all logs, so that a rename takes each file there: an agent that is killed meanwhile leaves it in one of the
// two places, whole. A log that was taken in part is completed by the next try.
//
// A pod may come back with the UID of one that was deleted, and its runs count from 0 again. The lines of such runs follow
// one another in one log, as they do where a runtime appends to a file that is still there.
type Kept struct {
	pods string // the directory of all logs
	name string // of its own directory in there
	log  *slog.Logger

	mu    sync.Mutex
	files []node.LogFile // as they were listed last
	known bool           // nothing has changed since
}

// keptMark begins the names of the directories in which nodes keep logs. No namespace begins with it.
const keptMark = ".kept-"

// NewKept returns the kept logs of a node with an ID of its own. Several nodes may have their logs in one directory.
func NewKept(pods, id string, log *slog.Logger) *Kept {
	return &Kept{pods: pods, name: keptMark + id, log: log}
}

// takePod takes all logs of a pod from its directory, which has this name in root.
func (k *Kept) takePod(root *os.Root, name, pod string) {
	dir, err := within(root, name)
	if err != nil {
		k.warn(pod, err)
		return
	}
	defer dir.Close()
	containers, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		k.warn(pod, err)
		return
	}
	for _, c := range containers {
		if !c.IsDir() {
			continue
		}
		from, err := within(dir, c.Name())
		if err == nil {
			err = k.take(from, pod, c.Name(), "")
			from.Close()
		}
		k.warn(pod, err)
	}
}

// takeRun takes the log of one run from the directory of its container.
func (k *Kept) takeRun(from *os.Root, pod, container, base string) {
	k.warn(pod, k.take(from, pod, container, base))
}

// warn logs why a log cannot be kept. It is removed then.
func (k *Kept) warn(pod string, err error) {
	// A directory with a name that is too long cannot exist.
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENAMETOOLONG) {
		k.log.Warn("cannot keep a log; it is removed", "pod", pod, "err", err)
	}
}

// take moves the log with a name, or with an empty name all logs, from the directory of a container.
func (k *Kept) take(from *os.Root, pod, container, base string) error {
	bases, err := basesIn(from, base)
	if err != nil || len(bases) == 0 {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known = false
	to, err := k.make(pod, container)
	if err != nil {
		return err
	}
	defer to.Close()
	var errs []error
	for _, base := range bases {
		errs = append(errs, moveLog(from, to, base))
	}
	return errors.Join(errs...)
}

// basesIn lists the logs in the directory of a container that have any output, or the one of a name.
func basesIn(dir *os.Root, only string) (bases []string, err error) {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, e := range entries {
		name, ok := parseName(e.Name())
		if !ok || found[name.base] || only != "" && name.base != only {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			found[name.base] = true
			bases = append(bases, name.base)
		}
	}
	return bases, nil
}

// make makes the directory of a container's logs, and opens it.
func (k *Kept) make(pod, container string) (dir *os.Root, err error) {
	if dir, err = os.OpenRoot(k.pods); err != nil {
		return nil, err
	}
	for _, name := range []string{k.name, pod, container} {
		if err = dir.Mkdir(name, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
			dir.Close()
			return nil, err
		}
		if dir, err = enter(dir, name); err != nil {
			return nil, err
		}
	}
	return dir, nil
}

// moveLog moves the files of a log. The file that was written to goes last: without it the log has not moved yet.
func moveLog(from, to *os.Root, base string) error {
	there, err := stampsOf(to.FS(), base)
	if err != nil {
		return err
	}
	if earlier, err := to.Lstat(base); err == nil { // of a pod with the same UID
		stamp := nextStamp(there, earlier.ModTime())
		if err := to.Rename(base, base+"."+stamp); err != nil {
			return err
		}
		there = append(there, stamp)
	}
	stamps, err := stampsOf(from.FS(), base)
	if err != nil {
		return err
	}
	for _, stamp := range stamps {
		as := nextStamp(there, stampTime(stamp))
		if err := moveRotated(from, to, base+"."+stamp, base+"."+as); err != nil {
			return err
		}
		there = append(there, as)
	}
	return moveFile(from, to, base, base)
}

// moveRotated moves a rotated file. One that exists in both forms moves as it was written, and is never there twice.
func moveRotated(from, to *os.Root, name, as string) error {
	if _, err := from.Lstat(name); err != nil {
		return moveFile(from, to, name+packedSuffix, as+packedSuffix)
	}
	return errors.Join(remove(from, name+packedSuffix), moveFile(from, to, name, as))
}

// moveFile moves a regular file from one directory to another on the same disk. Nothing else is a log.
func moveFile(from, to *os.Root, name, as string) error {
	info, err := from.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return ignoreMissing(err)
	}
	source, err := from.Open(".")
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := to.Open(".")
	if err != nil {
		return err
	}
	defer target.Close()
	if err := renameAt(source, name, target, as); err != nil {
		return fmt.Errorf("move %s: %w", filepath.Join(from.Name(), name), err)
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
