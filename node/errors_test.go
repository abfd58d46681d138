package node

import (
	"errors"
	"fmt"
	"testing"
)

func TestAFaultNamesItsDocumentOnce(t *testing.T) {
	err := Invalid([]Violation{
		{Object: "Pod default/a", Field: "spec.x", Rule: "is bad"}, {Object: "Pod default/a", Field: "spec.y", Rule: "is bad too"},
		{Document: 1, Rule: "is empty"}, {Document: 1, Field: "kind", Rule: "is missing"},
	}, 0)
	want := "invalid manifest: document 1 (Pod default/a): spec.x: is bad; spec.y: is bad too; document 2: is empty; kind: is missing"
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

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
