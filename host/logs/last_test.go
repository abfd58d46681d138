package logs

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"nodal/node"
)

func TestLast(t *testing.T) {
	numbered := func(n int, text string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "2026-01-02T15:04:01Z stdout F %d%s\n", i, text)
		}
		return b.String()
	}
	for _, test := range []struct {
		name, log, want string
	}{
		{"all of a short log", numbered(2, " end"), "0 end\n1 end\n"},
		{"the last lines of many", numbered(90, ""), "87\n88\n89\n"},
		{"the last bytes of long lines", numbered(2, strings.Repeat("x", 40)+"end"), strings.Repeat("x", 16) + "end\n"},
		{"a character that was cut in half", numbered(1, strings.Repeat("é", 9)+"e"), "\uFFFD" + strings.Repeat("é", 8) + "e\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Last(t.Context(), node.LogRun{Path: writeLog(t, test.log)}, 3, len(test.want)-2*strings.Count(test.want, "\uFFFD"))
			if err != nil || got != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestLastOfNoLog(t *testing.T) {
	if got, err := Last(t.Context(), node.LogRun{Path: filepath.Join(t.TempDir(), "none")}, 3, 20); got != "" || err != nil {
		t.Errorf("got %q, %v, want nothing", got, err)
	}
}
