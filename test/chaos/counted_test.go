package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// saying is a line of a counting pod, as containerd logged it.
type saying struct {
	at     time.Time
	number int
}

// wantEveryNumber checks the logs: every run counts from 0, and every pod still counts. Lines that
// containerd had read but not written when it was killed are lost; only such gaps are allowed.
func (a *alone) wantEveryNumber() {
	a.t.Helper()
	before := map[string]int{}
	for _, name := range a.names {
		before[name] = a.lastNumber(name)
	}
	deadline := time.Now().Add(settle)
	for _, name := range a.names {
		for a.lastNumber(name) <= before[name] {
			if time.Now().After(deadline) {
				a.t.Errorf("nothing new is in the log of %s", name)
				break
			}
			wait(a.t.Context(), 50*time.Millisecond)
		}
	}
	lost := 0
	for _, name := range a.names {
		for _, file := range a.logs(name) {
			lost += a.missing(file)
		}
	}
	a.t.Logf("%d lines were lost with containerd in %d kills", lost, len(a.away))
}

// lastNumber returns the last line of a pod's last run.
func (a *alone) lastNumber(name string) int {
	a.t.Helper()
	logs := a.logs(name)
	said := a.said(logs[len(logs)-1])
	if len(said) == 0 {
		return -1
	}
	return said[len(said)-1].number
}

// logs returns the log files of a pod's runs, oldest first.
func (a *alone) logs(name string) []string {
	a.t.Helper()
	files, err := filepath.Glob(filepath.Join(a.d.PodLogs, "default_"+name+"_"+a.uids[name], "main", "*.log"))
	must(a.t, err)
	// Another kill may interrupt the start that follows a kill. That run has no log, and if one
	// more follows, the first log is deleted.
	if len(files) == 0 || len(files) > 1 && !a.hit[name] {
		a.t.Fatalf("%s has the logs %q; its shim was killed: %t", name, files, a.hit[name])
	}
	slices.Sort(files)
	return files
}

// said returns the lines of a log, without a last line that is still being written.
func (a *alone) said(file string) (said []saying) {
	a.t.Helper()
	text, err := os.ReadFile(file)
	must(a.t, err)
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		n, err := parse(line)
		if err != nil {
			a.t.Errorf("%s: %v", file, err)
			continue
		}
		said = append(said, n)
	}
	return said
}

// parse splits a line into time, stream, mark and text.
func parse(line string) (s saying, err error) {
	fields := strings.Fields(line)
	if len(fields) != 4 || fields[1] != "stdout" || fields[2] != "F" {
		return s, fmt.Errorf("%q is no line of a log", line)
	}
	if s.at, err = time.Parse(time.RFC3339Nano, fields[0]); err != nil {
		return s, err
	}
	s.number, err = strconv.Atoi(fields[3])
	return s, err
}

// missing returns how many numbers a log lacks, and fails the test for a gap that no kill of
// containerd explains.
func (a *alone) missing(file string) (lost int) {
	a.t.Helper()
	last := saying{number: -1}
	for _, n := range a.said(file) {
		across := slices.ContainsFunc(a.away, func(s span) bool { return !last.at.After(s.ended) && !n.at.Before(s.began) })
		if n.number <= last.number || n.number > last.number+1 && !across {
			a.t.Errorf("%s: %d comes after %d, and containerd was not killed between %s and %s", file, n.number, last.number, clock(last.at), clock(n.at))
		}
		lost += n.number - last.number - 1
		last = n
	}
	return lost
}
