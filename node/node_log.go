package node

import (
	"regexp"
	"time"
)

// NodeLog describes one log of the machine.
type NodeLog struct {
	Name    string // agent, runtime, kernel, or a unit of systemd such as sshd.service
	Place   string // where it is kept: a file, or the journal; empty if it cannot be read
	Times   bool   // its lines have times, by which it can be cut
	Boots   bool   // it reaches back before the machine's last start
	Message string // the reason why it cannot be read; empty if it can
}

// NodeLogQuery selects the part of a log of the machine that is read.
type NodeLogQuery struct {
	Source  string
	Since   time.Time // zero for no limit, as Until
	Until   time.Time
	Pattern *regexp.Regexp // only lines that match; nil for all
	Tail    *int64         // only the last of these lines
	Boot    *int64         // 0 is the present boot of the machine, -1 the one before
	Follow  bool           // goes on with later lines, until the context ends
}

// ServiceLogQuery selects what the kubelet's path /logs/ returns of services. Upstream defines what its fields mean.
type ServiceLogQuery struct {
	Services []string
	Since    time.Time
	Until    time.Time
	Tail     *int
	Boot     *int
	Pattern  string // as PCRE2 has it; journalctl matches it
}

// Narrowed reports whether the query asks for less than all of a log.
func (q ServiceLogQuery) Narrowed() bool {
	return !q.Since.IsZero() || !q.Until.IsZero() || q.Tail != nil || q.Boot != nil || q.Pattern != ""
}
