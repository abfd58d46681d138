package record

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nodal/node"
	"nodal/node/history"
)

// growing is a node whose memory is the number of its sample, in pages.
type growing struct {
	series history.Series
	pages  uint64
	closed bool
}

func (g *growing) Sample(now time.Time) *history.Sample {
	g.pages++
	return &history.Sample{At: now.Unix(), Of: []history.Entry{{Series: &g.series, Figures: history.Figures{CPU: 10, Pages: g.pages}}}}
}

func (g *growing) Close() { g.closed = true }

func recorder(dir string, from *growing, report func(node.Event)) *Recorder {
	return New(Config{
		Dir: dir, MaxBytes: 1 << 20, Sampler: from, Report: report, Clock: time.Now, Log: slog.New(slog.DiscardHandler),
	})
}

// run runs a recorder for a time.
func run(t *testing.T, r *Recorder, of time.Duration) {
	t.Helper()
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		r.Run(ctx)
		close(done)
	}()
	time.Sleep(of)
	cancel()
	<-done
}

func everything() history.Question { return history.Question{Until: 1 << 40} }

func TestADayIsFineAndAWeekIsCoarse(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		from := &growing{}
		r := recorder(dir, from, func(e node.Event) { t.Errorf("event %+v", e) })
		run(t, r, 10*24*time.Hour)
		got, err := r.Past(everything())
		if err != nil || len(got) != 1 {
			t.Fatalf("got %d series, %v", len(got), err)
		}
		points := got[0].Points
		now, fine, last := time.Now().Unix(), 0, points[len(points)-1].At
		for i, p := range points {
			if i > 0 && p.At <= points[i-1].At {
				t.Fatalf("point %d is of %d, after one of %d", i, p.At, points[i-1].At)
			}
			if p.Pages != from.pages-uint64(last-p.At)/15 {
				t.Fatalf("point %d of %d s ago has %d pages, want the most of its time", i, now-p.At, p.Pages)
			}
			if i > 0 && p.At-points[i-1].At == 15 {
				fine++
			}
		}
		if first := now - points[0].At; first < 7*86400 || first > 8*86400 {
			t.Errorf("the first point is %d s old, want a week", first)
		}
		if day := 86400 / 15; fine < day || fine > day+day/4 {
			t.Errorf("%d points are fine, want those of a day: %d", fine, day)
		}
		if !from.closed {
			t.Error("the sampler was not closed")
		}
	})
}

func TestAnAgentGoesOnInTheMiddleOfAWindow(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		from := &growing{pages: 1000}
		run(t, recorder(dir, from, nil), 2*time.Minute)
		from.pages = 0 // the memory is given back while there is no agent
		r := recorder(dir, from, nil)
		run(t, r, 4*time.Minute)
		var got []uint64
		if err := r.rings.coarse.Read(0, 1<<40, func(s *history.Sample) { got = append(got, s.Of[0].Pages) }); err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0] < 1000 {
			t.Errorf("got %v, want one sum with the most of both agents", got)
		}
	})
}

func TestADiskThatFailsIsToldOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "history")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // in the way
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var told []node.Event
		r := recorder(dir, &growing{}, func(e node.Event) { told = append(told, e) })
		run(t, r, time.Hour)
		if len(told) != 1 || !told[0].Warning || told[0].Reason != "UsageNotRecorded" || !strings.Contains(told[0].Message, dir) {
			t.Fatalf("got %+v, want one warning that names the place", told)
		}
		if _, err := r.Past(everything()); err == nil {
			t.Error("an empty past without a reason")
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		run(t, r, time.Minute)
		if got, err := r.Past(everything()); err != nil || len(got) != 1 {
			t.Errorf("got %d series, %v, want those after the repair", len(got), err)
		}
		r.tell(errors.New("again"))
		if len(told) != 2 {
			t.Errorf("got %d events, want one for each time that it fails", len(told))
		}
	})
}
