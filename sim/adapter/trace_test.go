package adapter

import (
	"fmt"
	"sync"
	"time"
)

// trace records the story of a run.
type trace struct {
	on    bool
	began time.Time
	mu    sync.Mutex
	lines []string
}

func (t *trace) addf(format string, args ...any) { t.addAt(time.Now(), format, args...) }

func (t *trace) addAt(at time.Time, format string, args ...any) {
	if !t.on {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, fmt.Sprintf("%8.3fs ", at.Sub(t.began).Seconds())+fmt.Sprintf(format, args...))
}
