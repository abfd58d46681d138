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

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
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

func TestAKeyThatFailsComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		q := NewQueue[string]()
		q.Add("web")
		q.Add("web")
		var times []time.Time
		q.Work(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), "it is tried again", func(_ context.Context, key string) error {
			if times = append(times, time.Now()); len(times) < 3 {
				return errors.New("away")
			}
			q.ShutDown()
			return nil
		})
		if len(times) != 3 || times[2].Sub(times[1]) <= times[1].Sub(times[0]) {
			t.Errorf("it was looked at at %v, want three times with longer pauses", times)
		}
		if got := strings.Count(log.String(), `msg="it is tried again" key=web`); got != 2 {
			t.Errorf("%d failures are in the log, want 2:\n%s", got, log.String())
		}
	})
}

func TestWhatANodeRefusesIsHopeless(t *testing.T) {
	for code, want := range map[codes.Code]bool{
		codes.InvalidArgument: true, codes.FailedPrecondition: true, codes.OK: false, codes.Unavailable: false, codes.ResourceExhausted: false,
	} {
		if got := Hopeless(grpcstatus.Error(code, "no")); got != want {
			t.Errorf("%s: got %t, want %t", code, got, want)
		}
	}
}
