package reconciler

import (
	"container/heap"
	"time"
)

// alarms holds the times at which pods or assets get a turn even if nothing changes.
type alarms[K comparable] struct {
	queue alarmQueue[K]
	due   map[K]time.Time // the valid alarm of each; others in the queue are stale
}

type alarm[K comparable] struct {
	at  time.Time
	key K
}

// set replaces the alarm of a key; the zero time removes it.
func (a *alarms[K]) set(at time.Time, key K) {
	switch due, ok := a.due[key]; {
	case at.IsZero():
		delete(a.due, key)
	case !ok || !at.Equal(due):
		a.due[key] = at
		heap.Push(&a.queue, alarm[K]{at, key})
	}
}

// next returns the time until the earliest alarm.
func (a *alarms[K]) next(now time.Time) time.Duration {
	for len(a.queue) > 0 && a.stale(a.queue[0]) {
		heap.Pop(&a.queue)
	}
	if len(a.queue) == 0 {
		return time.Hour
	}
	return max(0, a.queue[0].at.Sub(now))
}

// ring calls for everything whose alarm is due.
func (a *alarms[K]) ring(now time.Time, call func(K)) {
	for len(a.queue) > 0 && !a.queue[0].at.After(now) {
		if first := heap.Pop(&a.queue).(alarm[K]); !a.stale(first) {
			delete(a.due, first.key)
			call(first.key)
		}
	}
}

func (a *alarms[K]) stale(of alarm[K]) bool {
	due, ok := a.due[of.key]
	return !ok || !due.Equal(of.at)
}

type alarmQueue[K comparable] []alarm[K]

func (q alarmQueue[K]) Len() int           { return len(q) }
func (q alarmQueue[K]) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q alarmQueue[K]) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *alarmQueue[K]) Push(x any)        { *q = append(*q, x.(alarm[K])) }
func (q *alarmQueue[K]) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
