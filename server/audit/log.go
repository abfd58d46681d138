package audit

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"nodal/node/audit"
	"nodal/node/store"
	"nodal/server/auth"
	"nodal/server/method"
)

// Config is everything the log depends on.
type Config struct {
	Policy     audit.Policy
	Fields     audit.Fields
	LetThrough bool // requests run although their entries cannot be written
	File       File
	Store      *store.Store
	Log        *slog.Logger
}

// File keeps lines.
type File interface {
	// Append adds a line whole, or returns an error.
	Append(line []byte) error
	// AppendReserved is Append for a line that a full disk must not refuse. It may displace older ones of that kind.
	AppendReserved(line []byte) (displaced int, err error)
	// Backward visits the lines, the newest first. The position that it returns is for After.
	Backward(visit func(line []byte) bool) (next uint64, err error)
	// After returns the lines after a position. It reports false if some of them are gone.
	After(at uint64) (lines [][]byte, next uint64, all bool)
	// Changed returns a channel that is closed by the next line.
	Changed() <-chan struct{}
}

// Log keeps which callers do what.
type Log struct {
	cfg     Config
	methods map[string]method.Method
	boot    string // tells ids of this process from those of others

	mu        sync.Mutex
	last      uint64 // id
	lost      int64  // entries that are missing since the last that says so
	failing   bool   // the log says that entries cannot be written
	strangers audit.Flood
	known     audit.Flood
	counting  bool // a timer will write the numbers of refused requests
}

var _ auth.Auditor = (*Log)(nil)

// New returns a log that writes to the file.
func New(cfg Config) (*Log, error) {
	all, err := method.All()
	if err != nil {
		return nil, fmt.Errorf("read the API's methods: %w", err)
	}
	boot := make([]byte, 4)
	rand.Read(boot) // never fails
	l := &Log{cfg: cfg, methods: map[string]method.Method{}, boot: hex.EncodeToString(boot)}
	for _, m := range all {
		l.methods[m.Name] = m
	}
	return l, nil
}

const notWritten = "they could not be kept"

// Begin writes that a request is about to run. The error is for a request that must not run without an entry.
func (l *Log) Begin(c auth.Call) (func(auth.Ending), error) {
	asked := l.asked(c)
	level := l.cfg.Policy[asked.verb]
	if level == audit.Off || level == "" {
		return func(auth.Ending) {}, nil
	}
	e := asked.entry(c, l.find, level)
	e.ID, e.Time, e.Stage, e.Decision = l.nextID(), c.Started, audit.Received, audit.Allowed
	write := l.write
	if l.methods[c.Method].Frees {
		write = l.writeReserved
	}
	if err := write(e); err != nil && asked.needed && !l.cfg.LetThrough {
		return nil, fmt.Errorf("%w; the node changes nothing, runs no command and shows no Secret until it can be "+
			"written: delete pods, objects or images, which a full disk does not refuse, or mend its directory, "+
			"or start the kubelet with --audit-on-failure=allow", err)
	}
	return func(end auth.Ending) {
		// The request has run, so an error is too late for its caller. The next request meets it.
		_ = write(answered(e, end, l.find, time.Now()))
	}, nil
}

// Refuse writes that a request was refused. Of many from one place it counts the rest.
func (l *Log) Refuse(c auth.Call, outcome string) {
	level := l.cfg.Policy[audit.Refusals]
	if level == audit.Off || level == "" || !l.mayWrite(c) {
		return
	}
	// Metadata even if requests are kept: what a stranger sends may be anything.
	e := l.asked(c).entry(c, l.find, audit.Metadata)
	e.ID, e.Time, e.Stage, e.Decision, e.Outcome = l.nextID(), c.Started, audit.Refused, audit.Denied, outcome
	_ = l.write(e) // it is refused in any case
}

func (l *Log) nextID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	return l.boot + "-" + strconv.FormatUint(l.last, 10)
}

// write appends an entry. After a time without success it also appends how many entries are missing.
func (l *Log) write(e audit.Entry) error {
	return l.append(e, func(line []byte) (int, error) { return 0, l.cfg.File.Append(line) })
}

// writeReserved is write for a request that frees space.
func (l *Log) writeReserved(e audit.Entry) error { return l.append(e, l.cfg.File.AppendReserved) }

func (l *Log) append(e audit.Entry, add func(line []byte) (displaced int, err error)) error {
	e.Time = e.Time.UTC()
	displaced := 0
	line, err := l.cfg.Fields.Keep(e).Line()
	if err == nil {
		displaced, err = add(line)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost += int64(displaced)
	if err != nil {
		l.lost++
		if !l.failing {
			l.failing = true
			l.cfg.Log.Error("cannot write the audit log", "err", err, "refusesChanges", !l.cfg.LetThrough)
		}
		return err
	}
	if l.lost > 0 {
		missing := audit.Entry{Time: time.Now().UTC(), Stage: audit.LeftOut, LeftOut: l.lost, Reason: notWritten}
		if line, err := missing.Line(); err == nil && l.cfg.File.Append(line) == nil {
			l.cfg.Log.Info("the audit log can be written again", "entriesLost", l.lost)
			l.lost, l.failing = 0, false
		}
	}
	return nil
}
