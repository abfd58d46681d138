package node

import (
	"fmt"
	"testing"
	"time"
)

func TestTheNewestLostRunIsKept(t *testing.T) {
	run := func(attempt uint32, state ContainerState) Container {
		return Container{ID: fmt.Sprint(attempt), UID: "u1", Name: "app", Attempt: attempt, State: state, Inspected: true, ExitCode: int32(attempt)}
	}
	at := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	old := &Observed{
		Containers: []Container{run(3, ContainerRunning), run(2, ContainerExited)},
		Lost:       []Container{run(1, ContainerExited)},
	}
	seen := &Observed{Containers: []Container{run(2, ContainerExited)}}
	seen.Miss(old, at)
	newest := seen.Newest("u1", "app")
	if len(seen.Lost) != 1 || newest.Attempt != 3 || newest.ExitCode != 137 || !newest.FinishedAt.Equal(at) || newest.Alive() {
		t.Errorf("lost = %+v, want attempt 3 alone, ended unseen", seen.Lost)
	}
	if previous := seen.Previous("u1", "app"); previous.Attempt != 2 || previous.ExitCode != 2 {
		t.Errorf("previous = %+v, want attempt 2 as it was", previous)
	}
	if old.Lost[0].Attempt != 1 {
		t.Error("the older observation was written")
	}
}

func TestALostRunHasEndedBeforeTheNextWasMade(t *testing.T) {
	at := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	next := Container{ID: "1", UID: "u1", Name: "app", Attempt: 1, State: ContainerExited, CreatedAt: at.Add(-time.Minute)}
	old := &Observed{Containers: []Container{next, {ID: "0", UID: "u1", Name: "app", State: ContainerExited}}}
	seen := &Observed{Containers: []Container{next}}
	seen.Miss(old, at)
	if got, want := seen.Lost[0].FinishedAt, next.CreatedAt; !got.Equal(want) {
		t.Errorf("it has ended at %s, want %s", got, want)
	}
}

func TestACreatedContainerDoesNotCountBesideALiveOne(t *testing.T) {
	run := func(attempt uint32, state ContainerState) Container {
		return Container{UID: "u1", Name: "app", Attempt: attempt, State: state}
	}
	for _, c := range []struct {
		name             string
		seen             []Container // newest first, as the runtime's lists are read
		newest, previous int         // attempts; -1: none
	}{
		{"made by a late call beside one that runs", []Container{run(2, ContainerCreated), run(1, ContainerRunning), run(0, ContainerExited)}, 1, 0},
		{"or whose state is unknown", []Container{run(2, ContainerCreated), run(1, ContainerUnknown)}, 1, -1},
		{"made after one that has ended", []Container{run(2, ContainerCreated), run(1, ContainerExited)}, 2, 1},
		{"made before one that runs", []Container{run(2, ContainerRunning), run(1, ContainerCreated)}, 2, 1},
		{"made alone", []Container{run(0, ContainerCreated)}, 0, -1},
		{"none", nil, -1, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen := &Observed{Containers: c.seen}
			attempt := func(run *Container) int {
				if run == nil {
					return -1
				}
				return int(run.Attempt)
			}
			if got := attempt(seen.Newest("u1", "app")); got != c.newest {
				t.Errorf("newest = %d, want %d", got, c.newest)
			}
			if got := attempt(seen.Previous("u1", "app")); got != c.previous {
				t.Errorf("previous = %d, want %d", got, c.previous)
			}
		})
	}
}
