package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"nodal/agent/config"
	"nodal/host/source"
)

func TestEachConfiguredSourceHasALocation(t *testing.T) {
	for _, c := range []struct {
		sources config.Sources
		want    int // besides the API
	}{
		{config.Sources{}, 0},
		{config.Sources{StaticPodPath: "/pods"}, 1},
		{config.Sources{StaticPodPath: "/pods", URL: "http://pods"}, 2},
	} {
		found, err := podSources(c.sources, source.Sink{})
		if places := locations(&config.Config{Sources: c.sources}); err != nil || len(found) != c.want || len(places) != c.want+1 {
			t.Errorf("%+v: %d sources (%v) at %v, want %d", c.sources, len(found), err, places, c.want)
		}
	}
}

func TestStartWaitsForLooksButNotForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done, never := make(chan struct{}), make(chan struct{})
		close(done)
		begun := time.Now()
		if !await(t.Context(), done, done) || time.Since(begun) > 0 {
			t.Errorf("waited %s for looks that are over", time.Since(begun))
		}
		if !await(t.Context(), never, never) || time.Since(begun) != firstLook {
			t.Errorf("waited %s for looks that hang, want %s", time.Since(begun), firstLook)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if await(ended, never) {
			t.Error("goes on after its context has ended")
		}
	})
}
