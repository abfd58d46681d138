package reconciler

import (
	"errors"
	"maps"
	"testing"
	"time"

	"nodal/node"
)

func TestARunThatLivesOnAfterItsStopIsStoppedAgainLater(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	running := node.Container{ID: "c1", Name: "main", State: node.ContainerRunning}
	stop := node.StopContainer{Container: "main", ID: "c1"}
	got := fold(&node.Observed{Containers: []node.Container{running}}, "u1", Outcome{Action: stop, Now: now})
	inspected := Outcome{Action: node.InspectContainer{ID: "c1"}, Now: now}
	inspected.Result.Container = &running
	got = fold(got, "u1", inspected)
	fault, failed := got.Faults[stop.Target()]
	if !failed || !fault.Retry.After(now) {
		t.Errorf("the fault is %+v, want a rest before the next stop", fault)
	}
	if got = fold(got, "u1", inspected); got.Faults[stop.Target()].Count != 1 {
		t.Errorf("the faults are %+v, want none for another look at a run that lives", got.Faults)
	}
	if got = fold(got, "u1", Outcome{Action: stop, Now: now}); len(got.Faults) != 0 {
		t.Errorf("the faults are %+v, want none after a stop", got.Faults)
	}
}

// The lost container and the next one would have the same number.
func TestAStartWithoutAnswerUsesUpWhatItsDevicesWereReadyFor(t *testing.T) {
	ready := &node.Observed{Readied: map[string]uint32{"main": 1, "other": 2}}
	lost := Outcome{Action: node.StartContainer{Container: "main", ID: "c1"}, Err: errors.New("no answer")}
	if got := fail(ready, lost); !maps.Equal(got.Readied, map[string]uint32{"other": 2}) {
		t.Errorf("ready are %v, want only those of the other container", got.Readied)
	}
}

func TestPausesGrowOnUntilAContainerStarts(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	create, start := node.CreateContainer{Container: "main"}, node.StartContainer{Container: "main", ID: "c1"}
	refused := Outcome{Action: start, Now: now, Err: &node.Failure{Reason: node.RunContainerError, Err: errors.New("no pipes")}}
	made := Outcome{Action: create, Now: now, Result: node.Result{ID: "c1"}}
	got := fold(fail(fail(&node.Observed{}, refused), refused), "u1", made)
	if got = fail(got, refused); got.Faults[start.Target()].Count != 3 {
		t.Errorf("the faults are %+v, want those of the container before it counted", got.Faults)
	}
	if got = fold(got, "u1", Outcome{Action: start, Now: now}); len(got.Faults) != 0 {
		t.Errorf("the faults are %+v, want none of one that runs", got.Faults)
	}
}
