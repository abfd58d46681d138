package oom

import (
	"strconv"
	"strings"
)

// record is one message of the log:
//
//	6,113889,25601190417,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null)
//	 SUBSYSTEM=...
//
// The fields before the semicolon are facility and level, sequence, time and a flag. Lines that begin with a space are
// about devices. The kernel writes bytes that do not print as \x0a, and those of the names of processes stay so.
type record struct {
	sequence  uint64
	kernel    bool // the kernel itself has written it
	continues bool // it continues the message before it, which another one has cut off
	text      string
}

// levels is the number of levels of a message; the facility counts in steps of it. That of the kernel is zero, which no
// other writer can set.
const levels = 8

func parseRecord(raw string) (r record, ok bool) {
	head, body, ok := strings.Cut(raw, ";")
	fields := strings.Split(head, ",")
	if !ok || len(fields) < 4 {
		return record{}, false
	}
	priority, err := strconv.ParseUint(fields[0], 10, 32)
	if err != nil {
		return record{}, false
	}
	if r.sequence, err = strconv.ParseUint(fields[1], 10, 64); err != nil {
		return record{}, false
	}
	r.kernel = priority < levels
	r.continues = fields[3] == "c" || fields[3] == "+"
	r.text, _, _ = strings.Cut(body, "\n")
	return r, true
}
