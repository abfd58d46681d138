package retry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatFailsIsTriedAgainWithLongerPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		began, last, tries := time.Now(), time.Now(), 0
		Until(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), "it is not there yet", time.Second, func(context.Context) error {
			if pause := time.Since(last); pause > 1100*time.Millisecond {
				t.Errorf("try %d came after %s", tries, pause)
			}
			if tries, last = tries+1, time.Now(); tries < 10 {
				return errors.New("away")
			}
			return nil
		})
		if took := time.Since(began); tries != 10 || took < 6*time.Second || took > 10*time.Second {
			t.Errorf("%d tries took %s", tries, took)
		}
		if got := strings.Count(log.String(), `msg="it is not there yet" err=away`); got != 9 {
			t.Errorf("%d failures are in the log, want 9", got)
		}
	})
}

func TestTheEndOfTheContextEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		Until(ctx, slog.New(slog.DiscardHandler), "never", time.Hour, func(context.Context) error { return errors.New("away") })
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it ended after %s", took)
		}
	})
}
