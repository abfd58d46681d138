package pace

import (
	"testing"
	"time"
)

func TestLimitsAreWiderOnASlowMachineAlone(t *testing.T) {
	for _, c := range []struct {
		name, slower string
		want         time.Duration
	}{
		{"a usual machine", "", time.Second},
		{"ten times slower", "10", 10 * time.Second},
		{"no number", "snail", time.Second},
		{"no limit at all", "0", time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(Env, c.slower)
			if got := Of(time.Second); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
