package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAPIIsServedAfterTheFirstLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		looked, worked, served := make(chan struct{}), false, false
		work := func(ctx context.Context) error {
			worked = true
			<-ctx.Done()
			return nil
		}
		serve := func(ctx context.Context) error {
			served = true
			<-ctx.Done()
			return nil
		}
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, []task{work}, serve, looked) }()
		synctest.Wait()
		if !worked || served {
			t.Errorf("before the first look: works %t, serves %t", worked, served)
		}
		close(looked)
		synctest.Wait()
		if !served {
			t.Error("after the first look nothing is served")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
}

func TestFailedTaskEndsTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault := errors.New("fault")
		fail := func(context.Context) error {
			time.Sleep(time.Minute)
			return fault
		}
		serve := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		if err := run(t.Context(), []task{fail}, serve); !errors.Is(err, fault) {
			t.Errorf("it ended with %v, want the fault", err)
		}
	})
}

func TestTaskThatWaitsEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	begun := false
	wait := after(func(context.Context) error {
		begun = true
		return nil
	}, make(chan struct{}))
	if err := wait(ctx); err != nil || begun {
		t.Errorf("begun: %t, error %v; want neither", begun, err)
	}
}
