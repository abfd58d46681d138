package reconciler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"nodal/node"
)

func TestAlarms(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	a := alarms[node.Key]{due: map[node.Key]time.Time{}}
	set := func(seconds int, name string) { a.set(at(seconds), node.Key{Name: name}) }
	var rung []string
	ring := func(seconds int) {
		a.ring(at(seconds), func(key node.Key) { rung = append(rung, fmt.Sprintf("%s@%d", key.Name, seconds)) })
	}

	if got := a.next(start); got != time.Hour {
		t.Errorf("without an alarm the next is in %s, want an hour", got)
	}
	set(20, "web")
	set(10, "web") // the last one counts
	set(15, "db")
	set(12, "off")
	a.set(time.Time{}, node.Key{Name: "off"})
	if got, want := a.next(at(4)), 6*time.Second; got != want {
		t.Errorf("next in %s, want %s", got, want)
	}
	if got := a.next(at(40)); got != 0 {
		t.Errorf("one that is overdue is in %s, want at once", got)
	}
	for _, seconds := range []int{9, 10, 16, 20} {
		ring(seconds)
	}
	set(25, "web")
	ring(40)
	if want := []string{"web@10", "db@16", "web@40"}; !slices.Equal(rung, want) {
		t.Errorf("rung %q, want %q", rung, want)
	}
	if got := a.next(at(40)); got != time.Hour {
		t.Errorf("after all have rung the next is in %s, want an hour", got)
	}
}
