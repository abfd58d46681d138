package agent

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"nodal/node"
	"nodal/node/store"
	"nodal/reconciler/shutdown"
)

// noDisk is a journal that keeps nothing.
type noDisk struct{}

func (noDisk) Commit(...store.Record) error         { return nil }
func (noDisk) CommitReserved(...store.Record) error { return nil }

// downable returns a machine without pods, with a memory below dir.
func downable(t *testing.T, dir string) *shutdown.Machine {
	t.Helper()
	clock, err := store.OpenClock(noDisk{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	m := shutdown.New(shutdown.Config{
		Store: store.New(noDisk{}, clock), Phases: []node.ShutdownPhase{{Period: time.Hour}}, Clock: time.Now, Log: log,
		Memory: shutdownTimes{filepath.Join(dir, "state"), log},
		Report: func(node.Event) {}, Resume: func(time.Time) error { return nil },
	})
	go m.Run(t.Context())
	return m
}

func TestASignalMeansAShutdownOfTheMachine(t *testing.T) {
	m, dir := downable(t, t.TempDir()), t.TempDir()
	told, signal := context.WithCancel(t.Context())
	lasting, stop := lingering(told, told, m, nil)
	defer stop()
	signal()
	<-lasting.Done()
	if !m.State().Done || m.State().Cause != "SIGTERM" {
		t.Errorf("the agent stops, and the shutdown is %+v", m.State())
	}
	if got, want := downable(t, dir).Times(), (shutdown.Times{}); got != want {
		t.Errorf("a machine that never shut down did so at %v", got)
	}
}

func TestAnotherEndIsNoShutdown(t *testing.T) {
	dir := t.TempDir()
	m := downable(t, dir)
	lost, lose := context.WithCancel(t.Context()) // the lock was wanted by another process
	lasting, stop := lingering(lost, t.Context(), m, nil)
	defer stop()
	lose()
	<-lasting.Done()
	if m.Down() {
		t.Error("the pods end")
	}
	<-m.GoDown("test")
	if got := downable(t, dir).Times(); got.Start.IsZero() || got.End.Before(got.Start) {
		t.Errorf("the next agent knows %v of the shutdown", got)
	}
}
