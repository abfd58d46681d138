package nodelog

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Place says where a log is kept: in a file, or in the journal under a unit. If it is neither, Message has the reason.
type Place struct {
	File    string
	Unit    string
	Message string
}

// Own returns where the log of this process goes, which is its standard error. A service of systemd has that connected
// to the journal, and an environment that names the connection; a child that has redirected its output has the same
// environment, so the connection is compared.
func Own() Place {
	var stderr unix.Stat_t
	if err := unix.Fstat(2, &stderr); err != nil {
		return Place{Message: "the agent has no standard error"}
	}
	name, err := os.Readlink("/proc/self/fd/2")
	groups, _ := os.ReadFile("/proc/self/cgroup")
	return ownPlace(stderr, name, err, os.Getenv("JOURNAL_STREAM"), string(groups))
}

func ownPlace(stderr unix.Stat_t, name string, unnamed error, journal, groups string) Place {
	switch {
	case journal != "" && journal == fmt.Sprintf("%d:%d", stderr.Dev, stderr.Ino):
		if unit := unitOf(groups); unit != "" {
			return Place{Unit: unit}
		}
		return Place{Message: "the agent's log goes to the journal, under no unit of its own"}
	case stderr.Mode&unix.S_IFMT == unix.S_IFREG && unnamed == nil:
		return Place{File: name}
	case name == "/dev/null":
		return Place{Message: "the agent's log goes to /dev/null"}
	}
	return Place{Message: "the agent's log goes to a terminal or a pipe, from which it cannot be read; " +
		"run the agent as a service of systemd, or redirect its standard error to a file"}
}

// unitOf returns the service in whose cgroup a process is.
func unitOf(groups string) string {
	for line := range strings.Lines(groups) {
		path := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(path) < 3 || path[1] != "" && path[1] != "name=systemd" {
			continue
		}
		words := strings.Split(path[2], "/")
		for i := len(words) - 1; i >= 0; i-- {
			if strings.HasSuffix(words[i], ".service") {
				return words[i]
			}
		}
	}
	return ""
}
