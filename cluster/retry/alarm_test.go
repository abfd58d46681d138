package retry

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestASleepEndsWithTheTimeThatTheClockShows(t *testing.T) {
	for _, c := range []struct {
		name string
		set  time.Duration // the clock, after ten minutes
		want time.Duration
	}{
		{"the clock goes well", 0, time.Hour},
		{"the machine slept for long", 5 * time.Hour, 10 * time.Minute},
		{"the clock was set back", -5 * time.Hour, time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			alarm := NewAlarm(func() time.Time {
				if now := time.Now().Round(0); now.Sub(began) < 10*time.Minute {
					return now
				}
				return time.Now().Round(0).Add(c.set)
			})
			if err := alarm.Sleep(t.Context(), time.Hour); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took != c.want {
				t.Errorf("%s: it took %s, want %s", c.name, took, c.want)
			}
		})
	}
}

func TestASleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if err := NewAlarm(time.Now).Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("it ended after %s with %v", time.Since(began), err)
		}
	})
}

func TestOneClockReadingServesAllSleepers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sleepers = 100
		var looks, slept atomic.Int64
		alarm := NewAlarm(func() time.Time {
			looks.Add(1)
			return time.Now().Add(time.Duration(slept.Load()))
		})
		var all sync.WaitGroup
		for range sleepers {
			all.Go(func() {
				if err := alarm.Sleep(t.Context(), time.Hour); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := looks.Swap(0); got > sleepers+60 {
			t.Errorf("%d sleepers of an hour read the clock %d times, want once for each and once a minute", sleepers, got)
		}
		time.Sleep(24 * time.Hour)
		if got := looks.Load(); got > 0 {
			t.Errorf("without sleepers the clock was read %d times", got)
		}

		began := time.Now()
		time.AfterFunc(90*time.Second, func() { slept.Store(int64(5 * time.Hour)) })
		if err := alarm.Sleep(t.Context(), time.Hour); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 2*time.Minute {
			t.Errorf("after a suspended machine a later sleeper is woken after %s, want two minutes", took)
		}
	})
}
