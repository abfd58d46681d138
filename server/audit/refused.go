package audit

import (
	"cmp"
	"net"
	"time"

	"nodal/node/audit"
	"nodal/server/auth"
)

// mayWrite reports whether a refused request gets an entry. Strangers are counted apart, or they could hide what known
// callers try.
func (l *Log) mayWrite(c auth.Call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	flood, key := &l.known, c.Identity.Via+" "+c.Identity.Name
	if c.Identity.Name == "" || c.Identity.Via == "anonymous" {
		flood, key = &l.strangers, hostOf(c.From)
	}
	if flood.Take(key, c.Started) {
		return true
	}
	if !l.counting {
		l.counting = true
		time.AfterFunc(audit.FloodWindow, l.writeCounts)
	}
	return false
}

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return cmp.Or(address, "unknown")
	}
	return host
}

// writeCounts writes how many refused requests got no entry.
func (l *Log) writeCounts() {
	l.mu.Lock()
	l.counting = false
	strangers, known := l.strangers.Drain(), l.known.Drain()
	l.mu.Unlock()
	now := time.Now()
	for _, one := range strangers {
		_ = l.write(audit.Entry{Time: now, Stage: audit.LeftOut, From: one.Key, LeftOut: one.Count, Reason: tooMany})
	}
	for _, one := range known {
		_ = l.write(audit.Entry{Time: now, Stage: audit.LeftOut, User: one.Key, LeftOut: one.Count, Reason: tooMany})
	}
}

const tooMany = "too many refused requests"
