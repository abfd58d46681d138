package node

import (
	"errors"
	"fmt"
	"testing"
)

func TestInvalidShowsABoundedNumberOfViolations(t *testing.T) {
	for _, c := range []struct{ found, untold, shown int }{
		{0, 0, 0}, {1, 0, 1}, {MaxViolations, 0, MaxViolations}, {MaxViolations, 7, MaxViolations + 1}, {MaxViolations + 7, 0, MaxViolations + 1},
	} {
		err := Invalid(make([]Violation, c.found), c.untold)
		var invalid *InvalidError
		if c.shown == 0 {
			if err != nil {
				t.Errorf("of nothing: got %v, want no error", err)
			}
			continue
		}
		if !errors.As(err, &invalid) || len(invalid.Violations) != c.shown {
			t.Errorf("of %d and %d: got %v, want %d", c.found, c.untold, err, c.shown)
			continue
		}
		if rule := fmt.Sprintf("%d more violations are not shown", 7); c.shown > MaxViolations && invalid.Violations[MaxViolations].Rule != rule {
			t.Errorf("of %d and %d: the last is %q, want %q", c.found, c.untold, invalid.Violations[MaxViolations].Rule, rule)
		}
	}
}
