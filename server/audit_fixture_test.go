package server

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"nodal/node"
	entries "nodal/node/audit"
	"nodal/server/audit"
	"nodal/server/auth"
)

// auditLines is an audit log in memory. It can be broken.
type auditLines struct {
	bell node.Bell

	mu     sync.Mutex
	lines  [][]byte
	broken error
	before func(entries.Entry) // sees each entry before it is written
}

var _ audit.File = (*auditLines)(nil)

var (
	errDiskFull   = errors.New(`audit log "/audit.log": write: no space left on device`)
	errDiskBroken = errors.New(`audit log "/audit.log": write: input/output error`)
)

func (l *auditLines) Append(line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	if e, ok := entries.Parse(line); ok && l.before != nil {
		l.before(e)
	}
	l.lines = append(l.lines, bytes.Clone(line))
	l.bell.Ring()
	return nil
}

// AppendReserved takes a line also where Append refuses it because the disk is full.
func (l *auditLines) AppendReserved(line []byte) (int, error) {
	if err := l.Append(line); !errors.Is(err, errDiskFull) {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, bytes.Clone(line))
	l.bell.Ring()
	return 0, nil
}

func (l *auditLines) Backward(visit func([]byte) bool) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range slices.Backward(l.lines) {
		if !visit(line) {
			break
		}
	}
	return uint64(len(l.lines)), nil
}

func (l *auditLines) After(at uint64) (lines [][]byte, next uint64, all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines[at:]), uint64(len(l.lines)), true
}

func (l *auditLines) Changed() <-chan struct{} { return l.bell.Heard() }

func (l *auditLines) setBroken(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = err
}

func (l *auditLines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(bytes.Join(l.lines, []byte("\n")))
}

// take returns the entries since the last time.
func (l *auditLines) take() (all []entries.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if e, ok := entries.Parse(line); ok {
			all = append(all, e)
		}
	}
	l.lines = nil
	return all
}

// pair returns the two entries of the one request since the last time.
func (l *auditLines) pair(t *testing.T) (received, done entries.Entry) {
	t.Helper()
	all := l.take()
	if len(all) != 2 || all[0].Stage != entries.Received || all[1].Stage != entries.Done || all[0].ID != all[1].ID {
		t.Fatalf("got %+v, want a received entry and the done one of the same request", all)
	}
	return all[0], all[1]
}

// newAudited returns a node with an audit log. Every caller may do everything, or those with a token.
func newAudited(t testing.TB, open bool, change ...func(*audit.Config)) (*node1, *auditLines) {
	t.Helper()
	file := &auditLines{}
	n := newNode(t, func(c *Config) {
		cfg := audit.Config{
			Policy: entries.DefaultPolicy(), Fields: entries.Fields{From: true, Groups: true, Object: true, Command: true},
			File: file, Store: c.State.Store, Log: slog.New(slog.DiscardHandler),
		}
		for _, f := range change {
			f(&cfg)
		}
		var err error
		if c.Front.Audit, err = audit.New(cfg); err != nil {
			t.Fatal(err)
		}
		material, err := auth.Bootstrap(auth.Dirs{Root: credentials}, []string{"localhost"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		c.Front.Auth, err = auth.New(auth.Config{Material: *material, Anonymous: open, AlwaysAllow: open, Audit: c.Front.Audit})
		if err != nil {
			t.Fatal(err)
		}
	})
	return n, file
}
