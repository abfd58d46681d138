package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"nodal/node"
)

func openEvents(t *testing.T) (*Events, *Clock) {
	t.Helper()
	clock := openClock(t, newMemory())
	return NewEvents(clock), clock
}

func everything(*node.Event) bool { return true }

func since(t *testing.T, r *Events, revision int64, match func(*node.Event) bool) []node.Event {
	t.Helper()
	events, _, err := r.Since(revision, match)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func TestRepeatedEventIsCounted(t *testing.T) {
	start := time.Unix(1000, 0)
	backOff := node.Event{Time: start, Reason: "BackOff", Key: key("web"), Container: "app", Warning: true}
	cases := []struct {
		name   string
		change func(*node.Event)
		want   []int32 // counts
	}{
		{"soon after", func(e *node.Event) { e.Time = start.Add(time.Minute) }, []int32{2}},
		{"of a step that took another time", func(e *node.Event) { e.Took = time.Second }, []int32{2}},
		{"that stands for several", func(e *node.Event) { e.Count = 6 }, []int32{7}},
		{"after a long time", func(e *node.Event) { e.Time = start.Add(repeatWindow) }, []int32{1, 1}},
		{"of another container", func(e *node.Event) { e.Container = "side" }, []int32{1, 1}},
		{"of another pod", func(e *node.Event) { e.Key = key("db") }, []int32{1, 1}},
		{"of another pod of the name", func(e *node.Event) { e.UID = "u2" }, []int32{1, 1}},
		{"with other words", func(e *node.Event) { e.Message = "x" }, []int32{1, 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, clock := openEvents(t)
			r.Add(backOff)
			r.Add(node.Event{Time: start, Reason: "Other"})
			again := backOff
			c.change(&again)
			r.Add(again)
			var counts []int32
			events := since(t, r, 0, func(e *node.Event) bool { return e.Reason == "BackOff" })
			for _, e := range events {
				counts = append(counts, e.Count)
			}
			if fmt.Sprint(counts) != fmt.Sprint(c.want) {
				t.Fatalf("counts = %v, want %v", counts, c.want)
			}
			last := events[len(events)-1]
			if !last.Time.Equal(again.Time) || last.Revision != clock.Now() {
				t.Errorf("time, revision = %s, %d, want %s, %d", last.Time, last.Revision, again.Time, clock.Now())
			}
			if !events[0].First.Equal(start) {
				t.Errorf("first = %s, want %s", events[0].First, start)
			}
		})
	}
}

func TestEventsSince(t *testing.T) {
	r, clock := openEvents(t)
	r.Add(node.Event{Reason: "A", Key: key("web")})
	middle := clock.Now()
	r.Add(node.Event{Reason: "B", Key: key("db")})
	r.Add(node.Event{Reason: "C", Key: key("web")})
	ofWeb := func(e *node.Event) bool { return e.Key == key("web") }
	for _, c := range []struct {
		since int64
		match func(*node.Event) bool
		want  string
	}{
		{0, everything, "ABC"}, {middle, everything, "BC"}, {0, ofWeb, "AC"}, {middle, ofWeb, "C"}, {clock.Now(), everything, ""},
	} {
		got := ""
		for _, e := range since(t, r, c.since, c.match) {
			got += e.Reason
		}
		if got != c.want {
			t.Errorf("Since(%d) = %q, want %q", c.since, got, c.want)
		}
	}
	if _, _, err := r.Since(clock.Now()+1, everything); !errors.Is(err, node.ErrCompacted) {
		t.Errorf("Since a revision to come = %v, want %v", err, node.ErrCompacted)
	}
}

func TestNoisyPodDoesNotPushOutOthers(t *testing.T) {
	r, clock := openEvents(t)
	r.Add(node.Event{Reason: "Started", Key: key("quiet")})
	start := clock.Now()
	for i := range keptEventsPerPod + 1 {
		r.Add(node.Event{Reason: "Noise", Message: fmt.Sprint(i), Key: key("noisy")})
	}
	events := since(t, r, 0, everything)
	if len(events) != keptEventsPerPod+1 || events[0].Key != key("quiet") || events[1].Message != "1" {
		t.Errorf("events = %d from %q, want all of the quiet pod and the latest %d", len(events), events[0].Reason, keptEventsPerPod)
	}
	// A resume before the dropped event must fail, not miss it silently.
	if _, _, err := r.Since(start, everything); !errors.Is(err, node.ErrCompacted) {
		t.Errorf("Since(%d) = %v, want %v", start, err, node.ErrCompacted)
	}
	if _, _, err := r.Since(start+1, everything); err != nil {
		t.Errorf("Since(%d) = %v", start+1, err)
	}
}

func TestEventsAreBounded(t *testing.T) {
	r, _ := openEvents(t)
	const more = 10
	for i := range keptEvents + more {
		r.Add(node.Event{Reason: "Made", Message: fmt.Sprint(i), Key: key(fmt.Sprint(i))})
	}
	events := since(t, r, 0, everything)
	if len(events) != keptEvents || events[0].Message != fmt.Sprint(more) {
		t.Errorf("events = %d from %s, want the latest %d", len(events), events[0].Message, keptEvents)
	}
	if len(r.perKey) != keptEvents {
		t.Errorf("pods counted = %d, want %d", len(r.perKey), keptEvents)
	}
}
