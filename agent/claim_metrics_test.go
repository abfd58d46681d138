package agent

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestAnUnreadableClaimIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	faults := faultLog{log: slog.New(slog.NewTextHandler(&log, nil))}
	for _, x := range []struct {
		name string
		err  error
		want int // lines of the log, from the first on
	}{
		{"all is known", nil, 0},
		{"one hangs", errors.New("one hangs"), 1},
		{"it still does", errors.New("one hangs"), 1},
		{"another fails", errors.New("another fails"), 2},
		{"all is known again", nil, 2},
		{"the other fails anew", errors.New("another fails"), 3},
	} {
		faults.note(x.err)
		if got := strings.Count(log.String(), "\n"); got != x.want {
			t.Errorf("%s: the log has %d lines, want %d", x.name, got, x.want)
		}
	}
}
