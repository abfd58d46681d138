package spelling

import "testing"

func TestDistanceCountsTheSlipsBetweenTwoWords(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"get", "get", 0}, {"", "get", 3}, {"gte", "get", 1}, {"imag", "image", 1}, {"images", "image", 1},
		{"lags", "logs", 1}, {"containres", "containers", 1}, {"apply", "plan", 4},
	} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("between %q and %q there are %d slips, want %d", c.a, c.b, got, c.want)
		}
		if there, back := Distance(c.a, c.b), Distance(c.b, c.a); there != back {
			t.Errorf("between %q and %q it is %d, and back %d", c.a, c.b, there, back)
		}
	}
}
