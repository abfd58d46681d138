package gc

import (
	"cmp"
	"slices"

	"nodal/node"
)

// LogUse says what a log file is to the node. The files with the lowest go first.
type LogUse uint8

const (
	LogOfDeleted LogUse = iota // its pod is deleted
	LogOlder                   // a newer file follows it, or the runtime no longer has its run
	LogEnded                   // the last file of a run that has ended, and that the runtime still has
	LogOpen                    // the runtime may write to it
)

// LogFile is a file with what it is to the node.
type LogFile struct {
	node.LogFile
	Use LogUse
}

// LogBudget bounds the files with the output of containers.
type LogBudget struct {
	Bytes int64 // of all; zero keeps nothing, and leaves what pods have to their own limits
	Files int   // that are kept although Kubernetes needs none of them
	Full  bool  // their file system has no room left: nothing is kept
}

// LogPlan lists the files to remove, in this order.
type LogPlan struct {
	Removals []node.LogFile
	Left     int64 // bytes of the others
	Short    int64 // bytes above the budget, of files that may not be removed
}

// Logs plans the removals that a budget asks for: logs of deleted pods first, then older files and runs, then runs that
// have ended. Among these the file goes first that was written to the longest time ago. One that may still be written to
// never goes. From the budget the room is taken that the next output needs.
func Logs(files []LogFile, budget LogBudget, room int64) (plan LogPlan) {
	kept := 0
	for _, f := range files {
		plan.Left += f.Bytes
		if f.Run.Kept {
			kept++
		}
	}
	most := max(budget.Bytes-room, 0)
	for _, f := range inOrder(files) {
		tooMuch := plan.Left > most && (budget.Bytes > 0 || f.Run.Kept)
		if f.Use == LogOpen || !tooMuch && !(f.Run.Kept && (kept > budget.Files || budget.Full)) {
			continue
		}
		plan.Removals = append(plan.Removals, f.LogFile)
		plan.Left -= f.Bytes
		if f.Run.Kept {
			kept--
		}
	}
	if budget.Bytes > 0 {
		plan.Short = max(plan.Left-budget.Bytes, 0)
	}
	return plan
}

// inOrder returns the files in the order in which they go.
func inOrder(files []LogFile) []LogFile {
	return slices.SortedFunc(slices.Values(files), func(a, b LogFile) int {
		return cmp.Or(cmp.Compare(a.Use, b.Use), a.Written.Compare(b.Written), cmp.Compare(a.Path, b.Path))
	})
}

// useOf says what a file is to its pod, of which these runs were seen.
func useOf(f node.LogFile, runs []node.Container) LogUse {
	if f.Run.Kept {
		return LogOlder
	}
	switch {
	case writes(f.Run, runs):
		if f.Packed { // the runtime has closed it
			return LogOlder
		}
		return LogOpen
	case !f.Rotated && has(f.Run, runs):
		return LogEnded
	}
	return LogOlder
}

// writes reports whether a run may still write. One that was not seen yet may have begun meanwhile, unless a newer one was
// seen.
func writes(run node.LogRun, runs []node.Container) bool {
	newer := false
	for i := range runs {
		c := &runs[i]
		if c.UID != run.UID || c.Name != run.Container {
			continue
		}
		if c.Attempt == run.Attempt {
			return c.State != node.ContainerExited
		}
		newer = newer || c.Attempt > run.Attempt
	}
	return !newer
}

func has(run node.LogRun, runs []node.Container) bool {
	return slices.ContainsFunc(runs, func(c node.Container) bool {
		return c.UID == run.UID && c.Name == run.Container && c.Attempt == run.Attempt
	})
}
