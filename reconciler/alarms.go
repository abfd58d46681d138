package reconciler

import (
	"container/heap"
	"time"

	"nodal/node"
)

// alarms remembers which pods to look at when, though nothing changed. A pod
// that is rung too often is merely looked at once more.
type alarms struct {
	queue alarmQueue
	due   map[node.Key]time.Time // the earliest of each pod; others in the queue are stale
}

type alarm struct {
	at  time.Time
	key node.Key
}

func (a *alarms) set(at time.Time, key node.Key) {
	if due, ok := a.due[key]; ok && !at.Before(due) {
		return
	}
	a.due[key] = at
	heap.Push(&a.queue, alarm{at, key})
}

// next is how long until the earliest alarm.
func (a *alarms) next(now time.Time) time.Duration {
	if len(a.queue) == 0 {
		return time.Hour
	}
	return max(0, a.queue[0].at.Sub(now))
}

// ring calls for every pod whose alarm is due.
func (a *alarms) ring(now time.Time, call func(node.Key)) {
	for len(a.queue) > 0 && !a.queue[0].at.After(now) {
		first := heap.Pop(&a.queue).(alarm)
		if a.due[first.key].Equal(first.at) {
			delete(a.due, first.key)
			call(first.key)
		}
	}
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
