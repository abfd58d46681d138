package listen

import (
	"sync"

	"golang.org/x/net/http2"
)

// windows holds what a client may send by the rules of HTTP/2.
type windows struct {
	mu      sync.Mutex
	changed *sync.Cond
	whole   int
	initial int
	streams map[uint32]int // those that are open
	over    bool
}

func newWindows() *windows {
	w := &windows{whole: smallestWindow, initial: smallestWindow, streams: map[uint32]int{}}
	w.changed = sync.NewCond(&w.mu)
	return w
}

// read follows what the server sends until the connection ends.
func (w *windows) read(c *rawClient) {
	for {
		frame, err := c.ReadFrame()
		if err != nil {
			break
		}
		w.hear(frame)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.changed.Broadcast()
}

func (w *windows) hear(frame http2.Frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.changed.Broadcast()
	switch frame := frame.(type) {
	case *http2.WindowUpdateFrame:
		if frame.StreamID == 0 {
			w.whole += int(frame.Increment)
		} else if _, open := w.streams[frame.StreamID]; open {
			w.streams[frame.StreamID] += int(frame.Increment)
		}
	case *http2.SettingsFrame:
		if size, ok := frame.Value(http2.SettingInitialWindowSize); ok {
			for id := range w.streams {
				w.streams[id] += int(size) - w.initial
			}
			w.initial = int(size)
		}
	case *http2.RSTStreamFrame:
		delete(w.streams, frame.StreamID)
	case *http2.MetaHeadersFrame:
		if frame.StreamEnded() {
			delete(w.streams, frame.StreamID)
		}
	}
}

func (w *windows) open() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.over
}

func (w *windows) begin(stream uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streams[stream] = w.initial
}

// take waits for room and returns how many bytes the client may send now; none if the stream has ended.
func (w *windows) take(stream uint32, want int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		room, open := w.streams[stream]
		if w.over || !open {
			return 0
		}
		if n := min(want, room, w.whole, smallestFrame); n > 0 {
			w.streams[stream], w.whole = room-n, w.whole-n
			return n
		}
		w.changed.Wait()
	}
}
