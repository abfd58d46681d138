package script

import (
	"fmt"
	"testing"
	"time"

	"nodal/node"
)

// TestTenThousandRestarts lets one container crash for five weeks.
func TestTenThousandRestarts(t *testing.T) {
	const times = 10_000
	s, err := newStage()
	if err != nil {
		t.Fatal(err)
	}
	play := func(line string) {
		if _, err := s.command(line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	play("auto")
	play("pod containers=app,side")
	var first, size int
	for n := 1; n <= times; n++ {
		began := s.now
		play("exit app 1")
		for s.restarts("app") < n {
			if s.wake.IsZero() {
				t.Fatalf("after %d restarts nothing follows", s.restarts("app"))
			}
			play(fmt.Sprintf("advance %s", s.wake.Sub(s.now)))
		}
		want := time.Duration(0)
		if n > 1 {
			want = min(10*time.Second<<min(n-2, 10), node.DefaultBackoffMax)
		}
		if paused := s.now.Sub(began); paused != want {
			t.Fatalf("restart %d came after %s, want %s", n, paused, want)
		}
		if n == 10 {
			first = s.journal.size()
		}
	}
	if size = s.journal.size(); size > first+64 {
		t.Errorf("the journal has grown from %d to %d bytes", first, size)
	}
	if got := s.restarts("side"); got != 0 {
		t.Errorf("the container beside it has %d restarts", got)
	}
	if got := s.track.Got(); len(got.Containers) > 3 || len(got.Lost) > 0 || len(got.Sandboxes) != 1 {
		t.Errorf("%d runs in %d sandboxes are kept, want the newest two and the neighbour in one", len(got.Containers), len(got.Sandboxes))
	}
	if n := len(s.seen().Containers); n > 3 {
		t.Errorf("the machine has %d containers", n)
	}
	if err := s.boot(); err != nil {
		t.Fatal(err)
	}
	play("auto")
	if got := s.restarts("app"); got != times {
		t.Errorf("after a restart of the agent the count is %d, want %d", got, times)
	}
}

func (s *stage) restarts(container string) int {
	return int(s.track.Slot().Tallies[container].Restarts)
}

// size returns the bytes that the journal holds.
func (j journal) size() int {
	size := 0
	for _, data := range j {
		size += len(data)
	}
	return size
}
