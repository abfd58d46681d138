package gc

import (
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"nodal/node"
)

// log is a file with what it is to the node, by its name, its bytes and the minutes since it was written to.
func log(use LogUse, name string, bytes int64, minutes int) LogFile {
	kept := use == LogOfDeleted || strings.HasPrefix(name, "kept")
	return LogFile{node.LogFile{
		Run: node.LogRun{Kept: kept}, Path: name, Bytes: bytes, Written: noon.Add(-time.Duration(minutes) * time.Minute),
	}, use}
}

func TestWhichLogsGoFirst(t *testing.T) {
	var (
		deleted = log(LogOfDeleted, "deleted", 100, 10)
		longAgo = log(LogOfDeleted, "long-ago", 100, 20)
		run     = log(LogOlder, "kept-run", 100, 90)
		rotated = log(LogOlder, "rotated", 100, 80)
		ended   = log(LogEnded, "ended", 100, 200)
		open    = log(LogOpen, "open", 100, 300)
		all     = []LogFile{open, ended, rotated, deleted, run, longAgo}
		many    = LogBudget{Bytes: 600, Files: 100}
	)
	for _, c := range []struct {
		name   string
		files  []LogFile
		budget LogBudget
		room   int64
		want   string // names of the removals; bytes that are left; bytes that are too much
	}{
		{"nothing within the budget", all, many, 0, "; 600; 0"},
		{"the oldest log of a deleted pod", all, LogBudget{Bytes: 599, Files: 100}, 0, "long-ago; 500; 0"},
		{"all logs of deleted pods before any other", all, LogBudget{Bytes: 400, Files: 100}, 0, "long-ago deleted; 400; 0"},
		{"then runs that were removed and rotated files, by age", all, LogBudget{Bytes: 200, Files: 100}, 0, "long-ago deleted kept-run rotated; 200; 0"},
		{"then what runs wrote last that have ended", all, LogBudget{Bytes: 100, Files: 100}, 0, "long-ago deleted kept-run rotated ended; 100; 0"},
		{"never what is being written", all, LogBudget{Bytes: 10, Files: 100}, 0, "long-ago deleted kept-run rotated ended; 100; 90"},
		{"room for what comes until the next look", all, many, 150, "long-ago deleted; 400; 0"},
		{"room for more than the budget", all, many, 9999, "long-ago deleted kept-run rotated ended; 100; 0"},
		{"too many files, however small: only what is kept counts", all, LogBudget{Bytes: 600, Files: 1}, 0, "long-ago deleted; 400; 0"},
		{"a full disk keeps nothing, and leaves pods what they have", all, LogBudget{Bytes: 600, Files: 100, Full: true}, 0, "long-ago deleted kept-run; 300; 0"},
		{"no budget: pods have what they have", all, LogBudget{}, 0, "long-ago deleted kept-run; 300; 0"},
		{"no budget, and much is written", all, LogBudget{}, 9999, "long-ago deleted kept-run; 300; 0"},
		{"no budget, and a kept file without bytes", []LogFile{log(LogOfDeleted, "empty", 0, 1), open}, LogBudget{}, 0, "empty; 100; 0"},
		{"no more than is needed", []LogFile{log(LogOfDeleted, "large", 1000, 5), deleted}, LogBudget{Bytes: 150, Files: 9}, 0, "deleted large; 0; 0"},
		{"no files", nil, many, 0, "; 0; 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := Logs(c.files, c.budget, c.room)
			var names []string
			for _, f := range plan.Removals {
				names = append(names, f.Path)
			}
			if got := fmt.Sprintf("%s; %d; %d", strings.Join(names, " "), plan.Left, plan.Short); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestWhatALogFileIsToItsPod(t *testing.T) {
	run := func(name string, attempt uint32, state node.ContainerState) node.Container {
		return node.Container{UID: "web", Name: name, Attempt: attempt, State: state}
	}
	running, exited, created := node.ContainerRunning, node.ContainerExited, node.ContainerCreated
	restarted := []node.Container{run("main", 2, running), run("main", 1, exited)}
	for _, c := range []struct {
		name string
		file string // of container main
		runs []node.Container
		want LogUse
	}{
		{"what is being written", "2.log", restarted, LogOpen},
		{"a file that may still get lines after its rotation", "2.log.20260102-150405", restarted, LogOpen},
		{"a file that the runtime has closed", "2.log.20260102-150405.gz", restarted, LogOlder},
		{"the last file of a run that has ended", "1.log", restarted, LogEnded},
		{"a rotated file of a run that has ended", "1.log.20260102-150405", restarted, LogOlder},
		{"a run that the runtime no longer has", "0.log", restarted, LogOlder},
		{"a run that was not seen yet", "3.log", restarted, LogOpen},
		{"a run that is about to begin", "2.log", []node.Container{run("main", 2, created)}, LogOpen},
		{"a pod that was not looked at yet", "0.log", nil, LogOpen},
		{"a pod with another container alone", "0.log", []node.Container{run("other", 5, running)}, LogOpen},
		{"a run that was removed", "kept/0.log", restarted, LogOlder},
	} {
		t.Run(c.name, func(t *testing.T) {
			var attempt uint32
			if _, err := fmt.Sscanf(path.Base(c.file), "%d.log", &attempt); err != nil {
				t.Fatal(err)
			}
			got := useOf(node.LogFile{
				Run:     node.LogRun{UID: "web", Container: "main", Attempt: attempt, Kept: strings.HasPrefix(c.file, "kept/")},
				Rotated: strings.Contains(c.file, ".log."), Packed: strings.HasSuffix(c.file, ".gz"),
			}, c.runs)
			if got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
