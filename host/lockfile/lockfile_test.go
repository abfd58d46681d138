package lockfile

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// limit bounds what has to happen at once.
const limit = 10 * time.Second

func TestTheNextOneWaitsUntilTheLockIsFree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Take(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 2*pause)
	defer cancel()
	if _, err := Take(short, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a second taker got %v, want it to wait", err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	second, err := Take(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Release(); err != nil {
		t.Error(err)
	}
}

func TestTheHolderSeesThatAnotherOneWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := Take(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	watching, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	seen := make(chan error, 1)
	go func() { seen <- lock.Contended(watching) }()
	waiting, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	others := make(chan error, 1)
	go func() { // takers come until the watch has begun, and sees one
		for {
			short, cancel := context.WithTimeout(waiting, pause/2)
			_, err := Take(short, path)
			cancel()
			if waiting.Err() != nil {
				others <- err
				return
			}
		}
	}()
	if err := <-seen; err != nil {
		t.Errorf("got %v, want the watch to end for another taker", err)
	}
	giveUp()
	<-others
}

func TestTheWatchEndsWithItsContext(t *testing.T) {
	lock, err := Take(t.Context(), filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- lock.Contended(ctx) }()
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
	case <-time.After(limit):
		t.Error("the watch goes on")
	}
}

func TestALockThatCannotBeMadeIsNamed(t *testing.T) {
	if _, err := Take(t.Context(), filepath.Join(t.TempDir(), "none", "lock")); err == nil {
		t.Error("a lock in a directory that is not there was taken")
	}
}
