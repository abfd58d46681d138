package sim

import "fmt"

// trace is the story of a run, kept only when somebody will read it.
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
