package sim

import "fmt"

// trace records the story of a run, if anyone will read it.
type trace struct {
	*schedule
	on    bool
	lines []string
}

func (t *trace) addf(format string, args ...any) {
	if t.on {
		t.lines = append(t.lines, fmt.Sprintf("%9.3fs  ", t.now.Seconds())+fmt.Sprintf(format, args...))
	}
}
