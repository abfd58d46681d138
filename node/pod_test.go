package node

import (
	"testing"
	"time"
)

func TestPauseBetweenRestarts(t *testing.T) {
	const long = streakReset
	cases := []struct {
		name string
		ran  []time.Duration // of the runs so far
		want time.Duration
	}{
		{"the first restart comes at once", []time.Duration{time.Second}, 0},
		{"the second waits 10 s", []time.Duration{0, 0}, 10 * time.Second},
		{"each one twice as long", []time.Duration{0, 0, 0, 0}, 40 * time.Second},
		{"up to the maximum", make([]time.Duration, 40), DefaultBackoffMax},
		{"a long run clears the past", []time.Duration{0, 0, 0, long}, 0},
		{"after a long run it begins again", []time.Duration{0, 0, 0, long, 0}, 10 * time.Second},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var tally Tally
			var pause time.Duration
			for _, ran := range c.ran {
				pause = tally.Pause(ran, DefaultBackoffMax)
				tally = tally.Restarted(ran)
			}
			if pause != c.want {
				t.Errorf("pause = %s, want %s", pause, c.want)
			}
			if got, want := tally.Restarts, int32(len(c.ran)); got != want {
				t.Errorf("restarts = %d, want %d", got, want)
			}
		})
	}
}
