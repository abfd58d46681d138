package gc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// LogFiles lists, measures and removes the files with the output of containers.
type LogFiles interface {
	// Kept lists the files of deleted pods, and of runs that were removed.
	Kept() ([]node.LogFile, error)
	// OfPods lists the files that pods still have, of which Key and UID are given.
	OfPods([]node.LogRun) ([]node.LogFile, error)
	RemoveFile(node.LogFile) error
	// Budget returns what all of them together may take.
	Budget() (LogBudget, error)
}

// LogCollector holds the logs of the node to their budget.
type LogCollector struct {
	Store *store.Store
	Files LogFiles
	Every time.Duration // between two rounds
	Log   *slog.Logger
	Clock func() time.Time
	Event func(node.Event)

	mu    sync.Mutex
	begun bool
	left  int64 // bytes after the last round
	next  time.Time
	short bool // it was told that files which may not be removed exceed the budget
	full  bool // it was told that the file system is full
}

// Run makes a round at regular intervals until the context ends.
func (c *LogCollector) Run(ctx context.Context) {
	ticker := time.NewTicker(c.Every)
	defer ticker.Stop()
	for {
		if err := c.round(); err != nil {
			c.Log.Warn("cannot hold the logs of containers to their budget", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// round removes the files that have to go.
func (c *LogCollector) round() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = c.Clock().Add(c.Every)
	plan, budget, err := c.plan()
	if err != nil {
		return err
	}
	for _, f := range plan.Removals {
		c.Log.Debug("a log goes for the budget", "path", f.Path, "bytes", f.Bytes)
	}
	c.begun, c.left = true, plan.Left
	c.warn(plan, budget)
	err = c.remove(plan.Removals)
	c.tellFull(budget.Full && len(plan.Removals) == 0)
	return err
}

// plan decides what has to go now. As much room is left as was written since the last round.
func (c *LogCollector) plan() (LogPlan, LogBudget, error) {
	budget, err := c.Files.Budget()
	if err != nil {
		return LogPlan{}, budget, err
	}
	files, err := c.look()
	if err != nil {
		return LogPlan{}, budget, err
	}
	room := int64(0)
	if c.begun {
		room = max(sum(files)-c.left, 0)
	}
	return Logs(files, budget, room), budget, nil
}

func sum(files []LogFile) (bytes int64) {
	for _, f := range files {
		bytes += f.Bytes
	}
	return bytes
}

// look lists all files. The logs that are kept come first: a file that moves there meanwhile is missed until the next
// round, and never counted twice.
func (c *LogCollector) look() ([]LogFile, error) {
	kept, err := c.Files.Kept()
	if err != nil {
		return nil, err
	}
	var all []LogFile
	for _, f := range kept {
		use := LogOfDeleted
		if c.Store.Holds(f.Run.UID) {
			use = useOf(f, nil)
		}
		all = append(all, LogFile{f, use})
	}
	views, _ := c.Store.Views()
	var pods []node.LogRun
	runs := map[types.UID][]node.Container{}
	for _, v := range views {
		if v.Gone || v.Slot == nil {
			continue
		}
		uid := v.Slot.Pod.UID()
		pods = append(pods, node.LogRun{Key: v.Key, UID: uid})
		if v.Got != nil {
			runs[uid] = v.Got.Containers
		}
	}
	files, err := c.Files.OfPods(pods)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		all = append(all, LogFile{f, useOf(f, runs[f.Run.UID])})
	}
	return all, nil
}

// warn tells once that the budget does not suffice for what is being written.
func (c *LogCollector) warn(plan LogPlan, budget LogBudget) {
	if short := plan.Short > 0; short != c.short {
		c.short = short
		if short {
			c.Log.Warn("the logs that containers write to exceed the budget of all logs; lower containerLogMaxSize, or raise "+
				"--container-log-budget", "bytes", plan.Left, "budget", budget.Bytes)
		}
	}
}

// tellFull tells once that the file system of logs is full and nothing may go, and again after it had room.
func (c *LogCollector) tellFull(full bool) {
	if full && !c.full {
		c.Event(node.Event{
			Time: c.Clock(), Warning: true, Reason: "LogDiskFull",
			Message: "the file system of the logs of containers is full: what containers print is lost until there is room; remove files from it",
		})
	}
	c.full = full
}

// remove removes files. It goes on after a failure.
func (c *LogCollector) remove(files []node.LogFile) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, c.Files.RemoveFile(f))
	}
	return errors.Join(errs...)
}

// Reclaim removes all logs that Kubernetes needs no more, because a disk of the node runs short. It returns their bytes.
func (c *LogCollector) Reclaim() (freed int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, err := c.Files.Kept()
	if err != nil {
		return 0, err
	}
	for _, f := range kept {
		freed += f.Bytes
	}
	c.left -= freed
	return freed, c.remove(kept)
}

// Garbage lists the logs that are kept although their pod is deleted, or their run removed: an entry a pod.
func (c *LogCollector) Garbage(context.Context) ([]node.Garbage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	plan, budget, err := c.plan()
	if err != nil {
		return nil, fmt.Errorf("look for logs of deleted pods: %w", err)
	}
	kept, err := c.Files.Kept()
	if err != nil {
		return nil, fmt.Errorf("look for logs of deleted pods: %w", err)
	}
	goes := map[string]bool{}
	for _, f := range plan.Removals {
		goes[f.Path] = true
	}
	why := fmt.Sprintf("all logs take %d bytes, and --container-log-budget allows %d", plan.Left, budget.Bytes)
	return leftLogs(kept, c.Store.Holds, goes, why, c.next), nil
}

// leftLogs makes one entry for each pod of which logs are kept. It goes if all of its files do.
func leftLogs(
	kept []node.LogFile, holds func(types.UID) bool, goes map[string]bool, stays string, next time.Time,
) (all []node.Garbage) {
	at := map[string]int{}
	for _, f := range kept {
		dir := filepath.Dir(filepath.Dir(f.Path)) // of the pod
		i, ok := at[dir]
		if !ok {
			i = len(all)
			at[dir] = i
			g := node.Garbage{Kind: node.GarbageLogs, Name: dir, Key: f.Run.Key, Why: "its pod is deleted", Goes: next}
			if holds(f.Run.UID) {
				g.Why = "its pod no longer has the runs that wrote it"
			}
			all = append(all, g)
		}
		all[i].Bytes += f.Bytes
		if !goes[f.Path] {
			all[i].Kept, all[i].Goes = stays, time.Time{}
		}
	}
	return all
}
