package state

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nodal/agent/config"
	"nodal/node"
	"nodal/node/seal"
)

func openIn(t *testing.T, root string) *State {
	t.Helper()
	s, err := Open(t.Context(), config.Dirs{Root: root}, seal.Source{Kind: seal.Beside}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func happens(s *State, words ...string) {
	for _, word := range words {
		s.Events.Add(node.Event{Time: time.Now(), Reason: word, Key: node.Key{Namespace: "default", Name: "web"}})
	}
}

func reasons(t *testing.T, s *State, after int64) string {
	t.Helper()
	found, _, err := s.Events.Since(after, func(*node.Event) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for i, e := range found {
		if i > 0 && e.Revision <= found[i-1].Revision {
			t.Errorf("event %s has revision %d, after %d", e.Reason, e.Revision, found[i-1].Revision)
		}
		all = append(all, e.Reason)
	}
	return strings.Join(all, " ")
}

// follow keeps events for a time, and ends without a last word, as an agent that is killed.
func follow(t *testing.T, s *State, of time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		s.KeepEvents(ctx)
		close(done)
	}()
	time.Sleep(of)
	cancel()
	<-done
}

func TestEventsSurviveAnAgentThatWasKilled(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first := openIn(t, root)
		happens(first, "Created", "Started")
		seen := first.Store.Revision()
		follow(t, first, time.Second)
		happens(first, "Lost") // in the last moment
		_ = first.journal.Close()

		second := openIn(t, root)
		if got := reasons(t, second, 0); got != "Created Started" {
			t.Errorf("got %q, want what was kept", got)
		}
		if _, _, err := second.Events.Since(seen, func(*node.Event) bool { return true }); !errors.Is(err, node.ErrCompacted) {
			t.Errorf("a watch goes on although it may have missed something: %v", err)
		}
		happens(second, "Exited")
		if got := reasons(t, second, 0); got != "Created Started Exited" {
			t.Errorf("got %q, want the new one behind them", got)
		}
		if got := reasons(t, second, second.Events.Began()); got != "Exited" {
			t.Errorf("got %q after the start, want what has happened since", got)
		}
		if err := second.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAWatchGoesOnAfterAnAgentThatHasEndedInOrder(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first := openIn(t, root)
		happens(first, "Created")
		seen := first.Store.Revision()
		follow(t, first, time.Second)
		happens(first, "Started")
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		second := openIn(t, root)
		happens(second, "Exited")
		if got := reasons(t, second, seen); got != "Started Exited" {
			t.Errorf("a watch that goes on sees %q, want what it has not seen", got)
		}
		if err := second.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestTheFileOfEventsStaysSmall(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := openIn(t, root)
		for n := range 20_000 { // a pod that fails again and again
			s.Events.Add(node.Event{
				Time: time.Now(), Reason: "BackOff", Warning: true, Message: strings.Repeat("x", 300), Key: node.Key{Namespace: "default", Name: fmt.Sprint("web-", n%50)},
			})
			if n%100 == 0 {
				s.kept.write()
			}
		}
		want := reasons(t, s, 0)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(config.Dirs{Root: root}.Events())
		if err != nil || info.Size() > 2<<20 {
			t.Errorf("the file has %d bytes, %v", info.Size(), err)
		}
		again := openIn(t, root)
		if got := reasons(t, again, 0); got != want {
			t.Errorf("%d events are back, want %d", strings.Count(got, " ")+1, strings.Count(want, " ")+1)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAnAgentStartsWithoutItsEvents(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(config.Dirs{Root: root}.Events(), 0o700); err != nil { // in the way of the file
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := openIn(t, root)
		happens(s, "Started")
		follow(t, s, time.Second)
		if got := reasons(t, s, 0); got != "Started" || !s.kept.failing {
			t.Errorf("got %q, failing is %t", got, s.kept.failing)
		}
		if err := os.Remove(config.Dirs{Root: root}.Events()); err != nil {
			t.Fatal(err)
		}
		happens(s, "Exited")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again := openIn(t, root)
		if got := reasons(t, again, 0); got != "Started Exited" {
			t.Errorf("got %q, want all, once the disk took them", got)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
