package sim

import (
	"container/heap"
	"time"
)

// schedule holds virtual time and the events to come. Events of the same moment happen in the order
// in which they were added.
type schedule struct {
	now   time.Duration // since the run began
	count int
	queue eventQueue
}

type event struct {
	at    time.Duration
	order int
	do    func()
}

func (s *schedule) after(d time.Duration, do func()) {
	s.count++
	heap.Push(&s.queue, event{s.now + max(0, d), s.count, do})
}

// step runs the next event; false when none is left.
func (s *schedule) step() bool {
	if len(s.queue) == 0 {
		return false
	}
	next := heap.Pop(&s.queue).(event)
	s.now = next.at
	next.do()
	return true
}

type eventQueue []event

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].order < q[j].order
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)   { *q = append(*q, x.(event)) }
func (q *eventQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
