package reconciler

import (
	"container/heap"
	"time"

	"nodal/node"
)

// alarms remembers which pods to look at when, though nothing changed.
type alarms struct {
	queue alarmQueue
	due   map[node.Key]time.Time // the one of each pod; others in the queue are stale
}

type alarm struct {
	at  time.Time
	key node.Key
}

// set replaces a pod's alarm; the zero time is none.
func (a *alarms) set(at time.Time, key node.Key) {
	switch due, ok := a.due[key]; {
	case at.IsZero():
		delete(a.due, key)
	case !ok || !at.Equal(due):
		a.due[key] = at
		heap.Push(&a.queue, alarm{at, key})
	}
}

// next is how long until the earliest alarm.
func (a *alarms) next(now time.Time) time.Duration {
	for len(a.queue) > 0 && a.stale(a.queue[0]) {
		heap.Pop(&a.queue)
	}
	if len(a.queue) == 0 {
		return time.Hour
	}
	return max(0, a.queue[0].at.Sub(now))
}

// ring calls for every pod whose alarm is due.
func (a *alarms) ring(now time.Time, call func(node.Key)) {
	for len(a.queue) > 0 && !a.queue[0].at.After(now) {
		if first := heap.Pop(&a.queue).(alarm); !a.stale(first) {
			delete(a.due, first.key)
			call(first.key)
		}
	}
}

func (a *alarms) stale(of alarm) bool {
	due, ok := a.due[of.key]
	return !ok || !due.Equal(of.at)
}

type alarmQueue []alarm

func (q alarmQueue) Len() int           { return len(q) }
func (q alarmQueue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q alarmQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *alarmQueue) Push(x any)        { *q = append(*q, x.(alarm)) }
func (q *alarmQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
