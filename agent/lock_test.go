package agent

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"nodal/agent/config"
)

func TestTheAgentMakesRoomWhenAnotherOneWantsTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	o := Options{Log: slog.New(slog.DiscardHandler), Config: &config.Config{
		Process: config.Process{LockFile: path, ExitOnContention: true},
	}}
	held, release, err := holdLock(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	limit := time.After(10 * time.Second)
	for { // until the watch has begun, and sees it
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
		select {
		case <-held.Done():
			if err := release(); err != nil {
				t.Error(err)
			}
			return
		case <-time.After(10 * time.Millisecond):
		case <-limit:
			t.Fatal("the agent keeps the lock")
		}
	}
}

func TestWithoutALockFileNothingIsHeld(t *testing.T) {
	held, release, err := holdLock(t.Context(), Options{Config: &config.Config{}})
	if err != nil || held != t.Context() || release() != nil {
		t.Errorf("got %v, want the same context", err)
	}
}
