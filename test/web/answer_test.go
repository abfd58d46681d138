package web

import (
	"strings"
	"testing"
)

func TestAStoryThatFailsSaysWhichStepAndWhy(t *testing.T) {
	const said = "ok   the link signs in (0.1 s)\nFAIL the pod is deleted: it stays (journey.mjs:7)\nthe page shows:\nFAILURES\n"
	var log, wishes strings.Builder
	got, err := stage{}.answer(&log, strings.NewReader(said), &wishes)
	if want := "the pod is deleted: it stays (journey.mjs:7)"; got != want || err != nil {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
	if log.String() != said || wishes.String() != "" {
		t.Errorf("logged is %q and answered %q, want all that was said and nothing", log.String(), wishes.String())
	}
}
