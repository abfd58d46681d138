package web

import (
	"strings"
	"testing"
)

func TestAStoryThatEndsBadlySaysWhere(t *testing.T) {
	for _, c := range []struct{ name, said, want string }{
		{
			"a failed step is reported with its reason",
			"ok   the link signs in (0.1 s)\nFAIL the pod is deleted: it stays (journey.mjs:7)\nthe page shows:\nFAILURES\n",
			"the pod is deleted: it stays (journey.mjs:7)",
		},
		{
			"an interrupted step is reported by the one before",
			"ok   the link signs in (0.1 s)\n",
			`after "ok   the link signs in (0.1 s)"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log, wishes strings.Builder
			got, err := stage{}.answer(&log, strings.NewReader(c.said), &wishes)
			if got != c.want || err != nil {
				t.Errorf("got %q (%v), want %q", got, err, c.want)
			}
			if log.String() != c.said || wishes.String() != "" {
				t.Errorf("logged is %q and answered %q, want all that was said and nothing", log.String(), wishes.String())
			}
		})
	}
}
