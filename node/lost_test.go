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
