package reconciler_test

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestALoopThatTurnsIsAliveAndOneThatDoesNotIsNot(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
		defer cancel()
		for range 2 {
			if err := b.alive(ctx); err != nil {
				t.Errorf("at work: %v", err)
			}
		}
		alive := b.alive
		b.stop()
		if err := alive(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended: got %v, want that the time ran out", err)
		}
		b.start()
	})
}
