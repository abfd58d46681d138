package inproc

import (
	"sync/atomic"

	"google.golang.org/protobuf/proto"
)

const (
	// depth is the number of messages that a stream holds for a busy receiver, as the window of a real connection does.
	depth = 16
	// window is the number of their bytes. A client that stops reading costs no more, however large messages are.
	window = 64 << 10
)

// queue holds messages for a busy receiver. One goroutine puts messages in at a time, as with grpc-go.
type queue struct {
	messages chan sized
	held     atomic.Int64
	taken    chan struct{} // has an element when a message was taken since the sender looked
}

type sized struct {
	proto.Message
	size int64
}

func newQueue() *queue {
	return &queue{messages: make(chan sized, depth), taken: make(chan struct{}, 1)}
}

// put waits for room and puts a copy of a message in. It returns false if one of the two channels is closed before that.
func (q *queue) put(m proto.Message, done, gone <-chan struct{}) bool {
	size := int64(proto.Size(m))
	for !q.fits(size) {
		select {
		case <-q.taken:
		case <-done:
			return false
		case <-gone:
			return false
		}
	}
	q.held.Add(size)
	select {
	case q.messages <- sized{proto.Clone(m), size}:
		return true
	case <-done:
		return false
	case <-gone:
		return false
	}
}

// fits reports whether a message has room. One that is larger than the window waits alone.
func (q *queue) fits(size int64) bool {
	held := q.held.Load()
	return held == 0 || held+size <= window
}

// release gives back the room of a message that was taken out.
func (q *queue) release(m sized) {
	q.held.Add(-m.size)
	select {
	case q.taken <- struct{}{}:
	default:
	}
}

func (q *queue) close() { close(q.messages) }
