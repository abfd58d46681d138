package runs

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// LogOfRun is the log of one run, with all its files.
type LogOfRun struct {
	Run     node.LogRun // without Path and ID
	Bytes   int64       // on the disk
	Written time.Time   // for the last time
	Deleted bool        // its pod
}

// findRun returns the run that is named, of a pod that may be deleted. Of a pod that is present, what it has itself comes
// before what was set apart.
func (l Logs) findRun(wanted Wanted) (Logged, error) {
	if wanted.Previous {
		return Logged{}, fmt.Errorf("previous, together with uid, attempt or kept: give only one of them: %w", node.ErrInvalid)
	}
	view, err := Pod(l.Pods, wanted.Key)
	present := err == nil
	if wanted.UID == "" {
		if !present {
			return Logged{}, fmt.Errorf("%w; the log of a deleted pod needs its uid, which /v1/logs lists", err)
		}
		wanted.UID = view.Slot.Pod.UID()
	}
	if present && !wanted.Kept && wanted.UID == view.Slot.Pod.UID() {
		for _, run := range begun(view, wanted.Container) {
			if wanted.Attempt == nil || *wanted.Attempt == run.Attempt {
				return Logged{key: wanted.Key, run: run}, nil
			}
		}
		if wanted.Attempt != nil && unbegun(view, wanted.Container, *wanted.Attempt) {
			return Logged{}, wanted.missing()
		}
	}
	return l.findFile(wanted)
}

// unbegun reports whether a run of a present pod is about to begin. The runtime may have made a file for it, which has
// nothing in it yet: the log would look complete.
func unbegun(view store.View, container string, attempt uint32) bool {
	if view.Got == nil {
		return false
	}
	all := begun(view, container)
	for _, c := range view.Got.Containers {
		if c.UID == view.Slot.Pod.UID() && c.Name == container && c.Attempt == attempt {
			return !slices.ContainsFunc(all, func(b node.Container) bool { return b.Attempt == attempt })
		}
	}
	return len(all) > 0 && attempt > all[0].Attempt && int64(attempt) >= int64(view.Slot.Tallies[container].Restarts)
}

// missing says that there is no log of the run.
func (w Wanted) missing() error {
	return fmt.Errorf("no log of that run of container %q in pod %s with uid %s; /v1/logs lists those that there are: %w",
		w.Container, w.Key, w.UID, node.ErrNotFound)
}

// findFile returns the newest run that is wanted and has a file.
func (l Logs) findFile(wanted Wanted) (Logged, error) {
	var files []node.LogFile
	if !wanted.Kept {
		own, err := l.Files.OfPod(wanted.Key, wanted.UID)
		if err != nil {
			return Logged{}, err
		}
		files = l.ofKnown(own)
	}
	kept, err := l.Files.Kept()
	if err != nil {
		return Logged{}, err
	}
	files = append(files, kept...)
	files = slices.DeleteFunc(files, func(f node.LogFile) bool { return !wanted.means(f.Run) })
	if len(files) == 0 {
		return Logged{}, wanted.missing()
	}
	// The first of equals is the pod's own.
	slices.SortStableFunc(files, func(a, b node.LogFile) int { return cmp.Compare(b.Run.Attempt, a.Run.Attempt) })
	run := files[0].Run
	return Logged{
		key: run.Key, run: node.Container{UID: run.UID, Name: run.Container, Attempt: run.Attempt}, kept: run.Kept,
	}, nil
}

// ofKnown drops the files of a pod that is not this node's: several nodes may have their logs in one directory.
func (l Logs) ofKnown(files []node.LogFile) []node.LogFile {
	return slices.DeleteFunc(files, func(f node.LogFile) bool { return !l.Pods.Holds(f.Run.UID) })
}

func (w Wanted) means(run node.LogRun) bool {
	return run.Key == w.Key && run.UID == w.UID && run.Container == w.Container &&
		(w.Attempt == nil || *w.Attempt == run.Attempt)
}

// List returns of which runs of some pods there are logs, those first that were written to the longest time ago.
func (l Logs) List(of func(node.Key) bool) ([]LogOfRun, error) {
	files, err := l.Files.Kept()
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f node.LogFile) bool { return !of(f.Run.Key) })
	views, _ := l.Pods.Views()
	for _, v := range views {
		if v.Gone || v.Slot == nil || !of(v.Key) {
			continue
		}
		own, err := l.Files.OfPod(v.Key, v.Slot.Pod.UID())
		if err != nil {
			return nil, err
		}
		files = append(files, own...)
	}
	return joined(files, l.Pods.Holds), nil
}

// joined makes one log of the files of each run.
func joined(files []node.LogFile, holds func(types.UID) bool) []LogOfRun {
	at, all := map[node.LogRun]int{}, []LogOfRun(nil)
	for _, f := range files {
		i, known := at[f.Run]
		if !known {
			i = len(all)
			at[f.Run] = i
			all = append(all, LogOfRun{Run: f.Run, Deleted: !holds(f.Run.UID)})
		}
		all[i].Bytes += f.Bytes
		if f.Written.After(all[i].Written) {
			all[i].Written = f.Written
		}
	}
	slices.SortFunc(all, func(a, b LogOfRun) int {
		return cmp.Or(a.Written.Compare(b.Written), a.Run.Key.Compare(b.Run.Key), cmp.Compare(a.Run.Container, b.Run.Container),
			cmp.Compare(a.Run.Attempt, b.Run.Attempt))
	})
	return all
}
