package podnet

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestServicesThatFailAreTriedAgainWithoutAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		never := func() <-chan struct{} { return nil }
		tried, told := 0, 0
		do := func() error {
			if tried++; tried < 4 {
				return errors.New("the kernel has no room")
			}
			return nil
		}
		go untilDone(ctx, never, do, func(error) { told++ })
		time.Sleep(time.Hour)
		synctest.Wait()
		if tried != 4 || told != 1 {
			t.Errorf("tried %d times and told %d times, want 4 and 1", tried, told)
		}
	})
}
