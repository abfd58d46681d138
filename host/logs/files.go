package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// fileName is the name of a file of a log, in parts.
type fileName struct {
	base    string // of its log
	attempt uint32
	stamp   string // of a rotated file
	packed  bool
}

var fileText = regexp.MustCompile(`^((0|[1-9][0-9]{0,9})\.log)(?:\.(\d{8}-\d{6})(\.gz)?)?$`)

func parseName(name string) (f fileName, ok bool) {
	parts := fileText.FindStringSubmatch(name)
	if parts == nil {
		return f, false
	}
	attempt, err := strconv.ParseUint(parts[2], 10, 32)
	return fileName{base: parts[1], attempt: uint32(attempt), stamp: parts[3], packed: parts[4] != ""}, err == nil
}

// stampTime returns the time of a stamp; the zero time if it has none.
func stampTime(stamp string) time.Time {
	t, err := time.Parse(stampLayout, stamp)
	if err != nil {
		return time.Time{}
	}
	return t
}

// Files lists the log files in the directory of a pod. It returns none if there is no such directory.
func (l Layout) Files(key node.Key, uid types.UID) ([]node.LogFile, error) {
	pod, err := podDir(key, uid)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(l.Pods)
	if err == nil {
		defer root.Close()
		var all []node.LogFile
		if all, err = filesOf(root, pod, node.LogRun{Key: key, UID: uid}, l.Pods); err == nil {
			return all, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENAMETOOLONG) {
		return nil, nil
	}
	return nil, fmt.Errorf("list the logs of pod %s: %w", key, err)
}

// filesOf lists the log files in the directory of a pod, whose parent is open and has a path.
func filesOf(parent *os.Root, pod string, of node.LogRun, path string) (all []node.LogFile, err error) {
	dir, err := within(parent, pod)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	containers, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil, err
	}
	for _, c := range containers {
		if !c.IsDir() {
			continue
		}
		of.Container = c.Name()
		files, err := filesIn(dir, of, filepath.Join(path, pod, c.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}

// filesIn lists the log files in the directory of a container.
func filesIn(pod *os.Root, of node.LogRun, path string) (all []node.LogFile, err error) {
	dir, err := within(pod, of.Container)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name, ok := parseName(e.Name())
		info, err := e.Info()
		if !ok || err != nil || !info.Mode().IsRegular() {
			continue
		}
		of.Attempt = name.attempt
		all = append(all, node.LogFile{
			Run: of, Path: filepath.Join(path, e.Name()), Bytes: onDisk(info), Written: info.ModTime(),
			Rotated: name.stamp != "", Packed: name.packed,
		})
	}
	return all, nil
}

// onDisk returns the bytes that a file takes, which its removal gives back.
func onDisk(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return info.Size()
}

// RemoveFile removes one file of a run in the directory of its pod. It succeeds if the file is gone.
func (l Layout) RemoveFile(file node.LogFile) error {
	root, err := l.open(file.Run)
	if err == nil {
		defer root.Close()
		err = remove(root, filepath.Base(file.Path))
	}
	if err = ignoreMissing(err); err != nil {
		return fmt.Errorf("remove %s: %w", file.Path, err)
	}
	return nil
}
