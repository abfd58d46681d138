package node

import (
	"math"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
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

func TestGracePeriodOfAPod(t *testing.T) {
	seconds := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		name  string
		asked *int64
		want  time.Duration
	}{
		{"what nobody gave is the default", nil, 30 * time.Second},
		{"none", seconds(0), 0},
		{"a minute", seconds(60), time.Minute},
		{"for ever is not at once", seconds(math.MaxInt64), math.MaxInt32 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{TerminationGracePeriodSeconds: c.asked}}
			if got := GracePeriod(pod); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestMergeRestarts(t *testing.T) {
	one := func(name string, attempt uint32, all bool) Restart {
		return Restart{Container: name, Attempt: attempt, All: all}
	}
	for _, c := range []struct {
		name              string
		asked, more, want []Restart
	}{
		{"what was asked for stays", []Restart{one("b", 1, false)}, []Restart{one("a", 2, false)}, []Restart{one("a", 2, false), one("b", 1, false)}},
		{"a later run takes the place of an earlier", []Restart{one("a", 1, true)}, []Restart{one("a", 2, false)}, []Restart{one("a", 2, false)}},
		{"that all begin anew is not taken back", []Restart{one("a", 1, true)}, []Restart{one("a", 1, false)}, []Restart{one("a", 1, true)}},
		{"and may be asked for later", []Restart{one("a", 1, false)}, []Restart{one("a", 1, true)}, []Restart{one("a", 1, true)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := MergeRestarts(c.asked, c.more); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
