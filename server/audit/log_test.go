package audit

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node/audit"
	"nodal/server/auth"
)

// lines is a file in memory that can be broken.
type lines struct {
	File
	mu     sync.Mutex
	all    []audit.Entry
	broken error

	displaced int // by each reserved line
}

func (l *lines) Append(line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	e, ok := audit.Parse(line)
	if !ok {
		return errors.New("no entry")
	}
	l.all = append(l.all, e)
	return nil
}

// AppendReserved displaces lines that wait, if the test says so.
func (l *lines) AppendReserved(line []byte) (int, error) { return l.displaced, l.Append(line) }

// entries returns what was written so far.
func (l *lines) entries() []audit.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

func newLog(t testing.TB, change func(*Config)) (*Log, *lines, *bytes.Buffer) {
	t.Helper()
	file, text := &lines{}, &bytes.Buffer{}
	fields, err := audit.FieldsNamed(audit.DefaultFields())
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Policy: audit.DefaultPolicy(), Fields: fields, File: file, Log: slog.New(slog.NewTextHandler(text, nil))}
	if change != nil {
		change(&cfg)
	}
	l, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l, file, text
}

// change is a request that changes something.
func change() auth.Call {
	return auth.Call{
		Identity: auth.Identity{Name: "alice", Role: auth.RoleOperator, Via: "token"}, From: "192.0.2.1:5000",
		Verb: auth.Write, Method: "/node.v1.ImagesService/PruneImages", Started: time.Now(),
	}
}

func TestAFloodEndsInANumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, file, _ := newLog(t, nil)
		stranger := auth.Call{From: "192.0.2.9:1", Method: "GET /", Started: time.Now()}
		for range 1000 {
			l.Refuse(stranger, "401")
		}
		known := change()
		for range 10 {
			l.Refuse(known, "PermissionDenied")
		}
		before := len(file.entries())
		time.Sleep(audit.FloodWindow + time.Second)
		synctest.Wait()
		got := file.entries()[before:]
		if len(got) != 2 || got[0].From != "192.0.2.9" || got[0].Stage != audit.LeftOut || got[0].LeftOut != int64(1000+10-before)-got[1].LeftOut {
			t.Errorf("after %d entries: got %+v, want the numbers of the others", before, got)
		}
		if got[1].User != "token alice" || got[1].LeftOut == 0 {
			t.Errorf("got %+v, want the number of a known caller by itself", got[1])
		}
		time.Sleep(10 * audit.FloodWindow)
		synctest.Wait()
		if len(file.entries()) != before+2 {
			t.Error("numbers are written without a flood")
		}
	})
}

func TestStrangersDoNotHideWhatKnownCallersTry(t *testing.T) {
	l, file, _ := newLog(t, nil)
	for i := range 10_000 {
		l.Refuse(auth.Call{From: string(rune('a'+i%26)) + ":1", Started: time.Now()}, "401")
	}
	before := len(file.entries())
	l.Refuse(change(), "PermissionDenied")
	if len(file.entries()) != before+1 {
		t.Error("a known caller's refused request has no entry")
	}
}

func TestAFailureIsLoggedOnceAndCounted(t *testing.T) {
	l, file, text := newLog(t, nil)
	file.broken = errors.New("the disk is full")
	for range 5 {
		if _, err := l.Begin(change()); !errors.Is(err, file.broken) {
			t.Errorf("got %v", err)
		}
	}
	if got := bytes.Count(text.Bytes(), []byte("cannot write the audit log")); got != 1 {
		t.Errorf("the fault was logged %d times", got)
	}
	file.broken = nil
	if _, err := l.Begin(change()); err != nil {
		t.Error(err)
	}
	if got := file.entries(); len(got) != 2 || got[1].Stage != audit.LeftOut || got[1].LeftOut != 5 || got[1].Reason != notWritten {
		t.Errorf("got %+v, want the number of lost entries", got)
	}
}

func TestEntriesThatWereDisplacedAreCounted(t *testing.T) {
	l, file, _ := newLog(t, nil)
	file.displaced = 3
	c := auth.Call{Verb: auth.Write, Method: nodev1.PodsService_DeletePod_FullMethodName, Message: &nodev1.DeletePodRequest{Namespace: "a", Name: "b"}}
	if _, err := l.Begin(c); err != nil {
		t.Fatal(err)
	}
	got := file.entries()
	if len(got) != 2 || got[1].Stage != audit.LeftOut || got[1].LeftOut != 3 {
		t.Errorf("got %+v, want the entry and the number of those that it has displaced", got)
	}
}

func TestThePolicyDecidesPerVerb(t *testing.T) {
	l, file, _ := newLog(t, func(c *Config) {
		c.Policy = audit.Policy{audit.Read: audit.Metadata, audit.Write: audit.Off, audit.Refusals: audit.Off}
	})
	file.broken = errors.New("the disk is full")
	if _, err := l.Begin(change()); err != nil {
		t.Errorf("a change that is not kept needs no entry: %v", err)
	}
	file.broken = nil
	read := change()
	read.Verb = auth.Read
	for _, c := range []auth.Call{change(), read} {
		end, err := l.Begin(c)
		if err != nil {
			t.Fatal(err)
		}
		end(auth.Ending{Outcome: "OK"})
	}
	l.Refuse(change(), "PermissionDenied")
	if len(file.entries()) != 2 || file.entries()[0].Verb != audit.Read {
		t.Errorf("got %+v, want the entries of the read", file.entries())
	}
}

func TestIdsOfAnotherProcessDiffer(t *testing.T) {
	a, _, _ := newLog(t, nil)
	b, _, _ := newLog(t, nil)
	if one, two := a.nextID(), a.nextID(); one == two || one == b.nextID() {
		t.Errorf("got %s and %s", one, two)
	}
}
