package trace

import (
	"context"
	"time"
)

const (
	most         = 512             // spans in one message
	wait         = 2 * time.Second // for more of them
	exportLimit  = 10 * time.Second
	partingLimit = time.Second
)

// Run sends queued spans until ctx ends, and then the rest.
func (t *Tracer) Run(ctx context.Context) {
	var failing bool
	for {
		batch := t.collect(ctx)
		if len(batch) > 0 {
			failing = t.send(ctx, batch, failing)
		}
		if ctx.Err() != nil && (failing || len(t.queue) == 0) {
			return
		}
	}
}

// collect waits for a span, and then a moment for others.
func (t *Tracer) collect(ctx context.Context) []*Span {
	var batch []*Span
	var enough <-chan time.Time
	done := ctx.Done()
	for len(batch) < most {
		select {
		case s := <-t.queue:
			batch = append(batch, s)
			if enough == nil {
				enough = time.After(wait)
			}
			continue
		case <-enough:
			return batch
		case <-done:
		}
		// At the end nothing is waited for.
		select {
		case s := <-t.queue:
			batch = append(batch, s)
		default:
			return batch
		}
	}
	return batch
}

// send sends a batch to the collector. It logs once that the collector fails, and once that it works again. A batch
// that the collector does not take is lost: keeping it would cost memory for as long as the collector is away.
func (t *Tracer) send(ctx context.Context, batch []*Span, failing bool) bool {
	limit := exportLimit
	if ctx.Err() != nil {
		limit = partingLimit
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	_, err := t.collector.Export(ctx, encode(t.config, batch))
	switch {
	case err != nil:
		t.dropped.Add(uint64(len(batch)))
		if !failing {
			t.config.Log.Warn("the trace collector does not accept spans; dropping them",
				"endpoint", t.config.Endpoint, "err", err)
		}
	case failing:
		t.config.Log.Info("the trace collector accepts spans again", "endpoint", t.config.Endpoint, "dropped", t.Dropped())
	}
	return err != nil
}
