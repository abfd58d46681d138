package files

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/reconciler/gc"
	"nodal/server/runs"
)

// mostKept bounds the files that are kept of deleted pods: a short log takes more inodes than bytes, and a look at all of
// them takes time.
const mostKept = 10_000

// leastFree bounds the free room of a file system: with less it counts as full.
const leastFree = 256 << 10

var (
	_ gc.LogFiles = Files{}
	_ runs.Files  = Files{}
)

// Kept lists the log files of deleted pods, and of runs that were removed.
func (f Files) Kept() ([]node.LogFile, error) { return f.kept.Files() }

// OfPod lists the log files that a pod still has.
func (f Files) OfPod(key node.Key, uid types.UID) ([]node.LogFile, error) {
	return f.Logs.Files(key, uid)
}

// OfPods lists the log files that pods still have, of which Key and UID are given. It is for rounds: all pods are named at
// each call, and what has not changed since the last one is remembered.
func (f Files) OfPods(pods []node.LogRun) ([]node.LogFile, error) { return f.listing.Files(pods) }

// RemoveFile removes one log file.
func (f Files) RemoveFile(file node.LogFile) error {
	if file.Run.Kept {
		return f.kept.Remove(file)
	}
	return f.Logs.RemoveFile(file)
}

// Read prints the log of a run.
func (f Files) Read(ctx context.Context, run node.LogRun, o node.LogOptions, sink node.LogSink) error {
	return f.Logs.Read(ctx, run, o, sink)
}

// Budget returns what all logs together may take of their file system.
func (f Files) Budget() (gc.LogBudget, error) {
	disk, err := diskOf(f.Logs.Pods)
	if err != nil {
		return gc.LogBudget{}, fmt.Errorf("measure the file system of logs: %w", err)
	}
	full := int64(disk.Bfree)*disk.Bsize < leastFree
	if f.budget.None() {
		return gc.LogBudget{Full: full}, nil
	}
	return gc.LogBudget{Bytes: f.budget.Of(int64(disk.Blocks) * disk.Bsize), Files: mostKept, Full: full}, nil
}

// diskOf returns the file system of a directory, or of the one in which it will be made.
func diskOf(dir string) (disk unix.Statfs_t, err error) {
	for {
		err = unix.Statfs(dir, &disk)
		if up := filepath.Dir(dir); err == unix.ENOENT && up != dir {
			dir = up
			continue
		}
		if err != nil {
			err = &fs.PathError{Op: "statfs", Path: dir, Err: err}
		}
		return disk, err
	}
}
