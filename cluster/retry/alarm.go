package retry

import (
	"context"
	"sync"
	"time"
)

// lookInterval is the time between two readings of the clock.
const lookInterval = time.Minute

// Alarm wakes sleepers in time even if the machine was suspended: timers stand still then. One reading of the clock
// serves all sleepers, and without sleepers there is none.
type Alarm struct {
	clock func() time.Time

	mu    sync.Mutex
	due   map[*context.CancelFunc]time.Time // by the function that wakes the sleeper
	looks bool                              // the next reading is scheduled
}

// NewAlarm returns an alarm that reads a clock.
func NewAlarm(clock func() time.Time) *Alarm {
	return &Alarm{clock: clock, due: map[*context.CancelFunc]time.Time{}}
}

// Sleep waits until so much time has passed, by a timer or by the clock.
func (a *Alarm) Sleep(ctx context.Context, d time.Duration) error {
	asleep, wake := context.WithTimeout(ctx, d)
	defer wake()
	a.set(&wake, d)
	defer a.unset(&wake)
	<-asleep.Done()
	return ctx.Err()
}

// set adds a sleeper.
func (a *Alarm) set(wake *context.CancelFunc, d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due[wake] = a.clock().Round(0).Add(d)
	if !a.looks {
		a.lookAgain()
	}
}

// unset removes a sleeper.
func (a *Alarm) unset(wake *context.CancelFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.due, wake)
}

// lookAgain schedules the next reading. It is called with mu held.
func (a *Alarm) lookAgain() {
	a.looks = true
	time.AfterFunc(lookInterval, a.look)
}

// look wakes the sleepers whose time has come.
func (a *Alarm) look() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looks = false
	if len(a.due) == 0 {
		return
	}
	now := a.clock()
	for wake, until := range a.due {
		if !now.Before(until) {
			(*wake)()
		}
	}
	a.lookAgain()
}
