// Package record has the node remember what it and its pods use, whether or not anything asks for it.
//
//	host/stats.Sampler ──▶ every 15 seconds ──▶ host/ring, a day
//	                              │
//	                       node/history.Digest ──▶ host/ring, a week every 5 minutes
//
// A disk that is slow or full costs samples, and nothing else: the recorder has a goroutine of its own, and says once
// that it records nothing.
//
// Start reading at Recorder.Run.
package record

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"sync"
	"time"

	"nodal/host/ring"
	"nodal/node"
	"nodal/node/history"
)

const (
	often  = 15 * time.Second
	seldom = 5 * time.Minute

	fineAge   = 24 * time.Hour
	coarseAge = 7 * 24 * time.Hour
)

// Sampler reads what is used now. A sample is valid until the next one.
type Sampler interface {
	Sample(now time.Time) *history.Sample
	Close()
}

// Config holds the parts of a recorder.
type Config struct {
	Dir      string
	MaxBytes int64 // on the disk
	Sampler  Sampler
	Report   func(node.Event)
	Clock    func() time.Time
	Log      *slog.Logger
}

// Recorder records samples, and answers questions about them.
type Recorder struct {
	cfg    Config
	digest *history.Digest

	failing bool // so that a failure is told once

	opening sync.Mutex
	rings   *rings

	reading sync.Mutex // one question at a time: each reads all files of its time
}

// rings hold the same samples: few for a day, and the sums of many for a week.
type rings struct{ fine, coarse *ring.Ring }

// New makes a recorder.
func New(cfg Config) *Recorder {
	return &Recorder{cfg: cfg, digest: history.NewDigest(int64(seldom / time.Second))}
}

// Run records until the context ends.
func (r *Recorder) Run(ctx context.Context) {
	ticker := time.NewTicker(often)
	defer ticker.Stop()
	defer r.close()
	for {
		r.tell(r.record(r.cfg.Clock()))
		select {
		case <-ticker.C: // which skips ticks while a disk is slow
		case <-ctx.Done():
			return
		}
	}
}

// record adds one sample.
func (r *Recorder) record(now time.Time) error {
	to, err := r.open()
	if err != nil {
		return err
	}
	sample := r.cfg.Sampler.Sample(now)
	if len(sample.Of) == 0 {
		return nil
	}
	err = to.fine.Append(sample)
	if sum := r.digest.Add(sample); sum != nil {
		err = errors.Join(err, to.coarse.Append(sum))
	}
	return err
}

// open opens the rings at the first use. The digest goes on with the samples of the agent before.
func (r *Recorder) open() (*rings, error) {
	r.opening.Lock()
	defer r.opening.Unlock()
	if r.rings != nil {
		return r.rings, nil
	}
	fine, err := ring.Open(ring.Config{
		Dir: filepath.Join(r.cfg.Dir, "15s"), Step: often, MaxBytes: r.cfg.MaxBytes / 4 * 3, MaxAge: fineAge,
	})
	if err != nil {
		return nil, err
	}
	coarse, err := ring.Open(ring.Config{
		Dir: filepath.Join(r.cfg.Dir, "5m"), Step: seldom, MaxBytes: r.cfg.MaxBytes / 4, MaxAge: coarseAge,
	})
	if err != nil {
		fine.Close()
		return nil, err
	}
	now := r.cfg.Clock().Unix()
	if err := fine.Read(r.digest.Window(now), now, func(s *history.Sample) {
		if s.At >= r.digest.Window(now) && s.At <= now {
			r.digest.Add(s)
		}
	}); err != nil {
		r.cfg.Log.Warn("a part of the history of usage cannot be read", "err", err)
	}
	r.rings = &rings{fine, coarse}
	return r.rings, nil
}

// tell tells of the first of several failures, and of their end.
func (r *Recorder) tell(err error) {
	switch {
	case err != nil && !r.failing:
		r.cfg.Log.Warn("what the node uses is not recorded", "err", err)
		r.cfg.Report(node.Event{
			Time: r.cfg.Clock(), Warning: true, Reason: "UsageNotRecorded",
			Message: fmt.Sprintf("what the node and its pods use is not recorded until the disk takes it: %v", err),
		})
	case err == nil && r.failing:
		r.cfg.Log.Info("what the node uses is recorded again")
	}
	r.failing = err != nil
}

func (r *Recorder) close() {
	r.cfg.Sampler.Close()
	r.opening.Lock()
	defer r.opening.Unlock()
	if r.rings != nil {
		r.rings.fine.Close()
		r.rings.coarse.Close()
	}
}

// Past answers a question. For the time before the first sample of the last day there are sums alone. If there is an
// error, it says what is missing in the answer.
func (r *Recorder) Past(q history.Question) ([]history.Past, error) {
	from, err := r.open()
	if err != nil {
		return nil, err
	}
	r.reading.Lock()
	defer r.reading.Unlock()
	answer := history.NewAnswer(q)
	first, ok := from.fine.First()
	if !ok {
		first = math.MaxInt64
	}
	err = from.coarse.Read(q.Since, min(q.Until, first), func(s *history.Sample) {
		if s.At < first {
			answer.Add(s)
		}
	})
	err = errors.Join(err, from.fine.Read(q.Since, q.Until, answer.Add))
	return answer.Pasts(), err
}
