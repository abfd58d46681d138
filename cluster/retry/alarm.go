package retry

import (
	"context"
	"sync"
	"time"
)

// glance is the interval at which an alarm reads the clock.
const glance = time.Minute

// Alarm wakes sleepers in time even if the machine was suspended meanwhile, when timers
// stand still. One reading of the clock serves all sleepers; without sleepers it reads
// none.
type Alarm struct {
	clock func() time.Time

	mu    sync.Mutex
	due   map[*context.CancelFunc]time.Time // by what wakes them
	looks bool                              // the next look is on its way
}

// NewAlarm returns an alarm that goes by a clock.
func NewAlarm(clock func() time.Time) *Alarm {
	return &Alarm{clock: clock, due: map[*context.CancelFunc]time.Time{}}
}

// Sleep waits for so long, or until the clock says that so much time has gone by.
func (a *Alarm) Sleep(ctx context.Context, d time.Duration) error {
	asleep, wake := context.WithTimeout(ctx, d)
	defer wake()
	a.set(&wake, d)
	defer a.unset(&wake)
	<-asleep.Done()
	return ctx.Err()
}

func (a *Alarm) set(wake *context.CancelFunc, d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due[wake] = a.clock().Round(0).Add(d)
	if !a.looks {
		a.lookAgain()
	}
}

func (a *Alarm) unset(wake *context.CancelFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.due, wake)
}

func (a *Alarm) lookAgain() {
	a.looks = true
	time.AfterFunc(glance, a.look)
}

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
