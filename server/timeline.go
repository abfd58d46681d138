package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/apimachinery/pkg/types"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/store"
)

// GetTimeline returns the steps of the pod of a name, or of the one with a UID. If there is none, it returns those of
// the last one, as long as its events are kept.
func (s *eventService) GetTimeline(
	_ context.Context, r *nodev1.GetTimelineRequest,
) (*nodev1.GetTimelineResponse, error) {
	key := node.Key{Namespace: r.GetNamespace(), Name: r.GetName()}
	events, _, err := s.events.Since(0, func(e *node.Event) bool { return e.Key == key })
	if err != nil {
		return nil, err
	}
	uid := types.UID(r.GetUid())
	var t timeline
	if view, ok := s.store.View(key); ok && (uid == "" || uid == view.Slot.Pod.UID()) {
		t = newTimeline(view, events, s.events.Missed)
	} else if t = pastTimeline(events, uid); len(t.steps) == 0 {
		return nil, fmt.Errorf("pod %s: no pod and no events: %w", key, node.ErrNotFound)
	}
	slices.SortStableFunc(t.steps, func(a, b *nodev1.Step) int {
		return a.GetTime().AsTime().Compare(b.GetTime().AsTime())
	})
	return &nodev1.GetTimelineResponse{Namespace: key.Namespace, Name: key.Name, Uid: string(t.uid), Steps: t.steps}, nil
}

// timeline collects the steps of one pod.
type timeline struct {
	uid      types.UID
	accepted time.Time
	steps    []*nodev1.Step
}

// pastTimeline makes the steps of a pod that is gone, the last one if the UID is empty.
func pastTimeline(events []node.Event, uid types.UID) timeline {
	for i := len(events) - 1; i >= 0 && uid == ""; i-- {
		uid = events[i].UID
	}
	t := timeline{uid: uid}
	if i := slices.IndexFunc(events, func(e node.Event) bool { return e.UID == uid }); i >= 0 && uid != "" {
		t.accepted = events[i].First
		t.addEvents(events)
	}
	return t
}

// newTimeline makes the steps from the pod's record and its events. Old events are dropped, and some may have been missed
// around a restart of the agent. Steps of these times come from the runtime.
func newTimeline(view store.View, events []node.Event, missed func(time.Time) bool) timeline {
	pod := view.Slot.Pod
	t := timeline{uid: pod.UID(), accepted: pod.Accepted}
	first := time.Time{}
	for i := range events {
		if events[i].UID == t.uid && (first.IsZero() || events[i].First.Before(first)) {
			first = events[i].First
		}
	}
	t.addEvents(events)
	if !slices.ContainsFunc(t.steps, func(step *nodev1.Step) bool { return step.GetWhat() == "Accepted" }) {
		t.add(pod.Accepted, &nodev1.Step{What: "Accepted", Message: "from source " + string(pod.Source)})
	}
	if view.Got != nil {
		t.addObserved(view.Got, func(at time.Time) bool { return first.IsZero() || at.Before(first) || missed(at) })
	}
	return t
}

func (t *timeline) addEvents(events []node.Event) {
	for i := range events {
		e := &events[i]
		if e.UID != t.uid {
			continue
		}
		step := &nodev1.Step{What: e.Reason, Container: e.Container, Message: e.Message, Warning: e.Warning}
		if e.Took > 0 {
			step.Took = durationpb.New(e.Took)
		}
		t.add(e.Time, step)
	}
}

func (t *timeline) addObserved(got *node.Observed, before func(time.Time) bool) {
	add := func(at time.Time, step *nodev1.Step) {
		if !at.IsZero() && before(at) {
			t.add(at, step)
		}
	}
	for i := range got.Sandboxes {
		if s := &got.Sandboxes[i]; s.UID == t.uid {
			add(s.CreatedAt, &nodev1.Step{What: "SandboxCreated", Message: "sandbox " + s.ID})
		}
	}
	for i := range got.Containers {
		c := &got.Containers[i]
		if c.UID != t.uid {
			continue
		}
		add(c.CreatedAt, &nodev1.Step{What: "Created", Container: c.Name, Message: fmt.Sprintf("attempt %d", c.Attempt)})
		add(c.StartedAt, &nodev1.Step{What: "Started", Container: c.Name, Message: fmt.Sprintf("attempt %d", c.Attempt)})
		if !c.FinishedAt.IsZero() && before(c.FinishedAt) {
			t.steps = slices.DeleteFunc(t.steps, endOf(c)) // its time is when the end was found
		}
		add(c.FinishedAt, &nodev1.Step{
			What: "Exited", Container: c.Name, Message: fmt.Sprintf("attempt %d, exit code %d", c.Attempt, c.ExitCode),
			Took: durationpb.New(c.Ran()), Warning: c.ExitCode != 0,
		})
	}
}

// endOf matches the step of the event about the end of a container's run.
func endOf(c *node.Container) func(*nodev1.Step) bool {
	return func(s *nodev1.Step) bool {
		return s.GetWhat() == "Exited" && s.GetContainer() == c.Name && s.GetTook().AsDuration() == c.Ran()
	}
}

func (t *timeline) add(at time.Time, step *nodev1.Step) {
	step.Time = timestamppb.New(at)
	step.SinceAccepted = durationpb.New(at.Sub(t.accepted))
	t.steps = append(t.steps, step)
}
