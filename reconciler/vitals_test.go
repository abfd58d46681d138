package reconciler_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
	"nodal/node/health"
	"nodal/reconciler"
)

// patient is a node whose state a test makes up. It is well but for what the test says.
type patient struct {
	*reconciler.Vitals
	runtime error // why it does not answer
	turned  node.Bell
	left    atomic.Int64 // of the disk, of which 10 have to be
	unread  []health.Unread
	looks   int
	log     strings.Builder
}

func newPatient() *patient {
	p := &patient{}
	p.left.Store(10)
	p.Vitals = reconciler.NewVitals(reconciler.VitalsConfig{
		Runtime: p, Clock: time.Now, Log: slog.New(slog.NewTextHandler(&p.log, nil)),
		Rules: []health.Rule{{Signal: "nodefs.available", Least: health.Threshold{Quantity: resource.MustParse("10")}}},
		Signals: func(context.Context) health.Reading {
			return health.Reading{Signals: []health.Signal{{Name: "nodefs.available", Left: p.left.Load(), Capacity: 100}}, Unread: p.unread}
		},
	})
	return p
}

func (p *patient) Changed() <-chan struct{} { return p.turned.Heard() }

func (p *patient) Status(context.Context) (node.RuntimeStatus, error) {
	p.looks++
	return node.RuntimeStatus{Name: "sim", Ready: true, NetworkReady: true}, p.runtime
}

func TestAdmissionKnowsShortagesAfterTheFirstLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient()
		p.left.Store(9)
		if got := p.Short(); got != nil {
			t.Errorf("before the first look the node is short of %v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go p.Run(ctx)
		<-p.Looked()
		if got := p.Short(); !slices.Equal(got, []corev1.NodeConditionType{corev1.NodeDiskPressure}) {
			t.Errorf("the disk is full, and the node is short of %v", got)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := strings.Count(p.log.String(), "conditions=[DiskPressure]"); got != 1 {
			t.Errorf("it was logged %d times that the disk is full, want once", got)
		}
		p.left.Store(10)
		<-p.Vitals.Changed()
		if got := p.Short(); len(got) > 0 {
			t.Errorf("the disk has room, and the node is short of %v", got)
		}
	})
}

func TestMeasuringDoesNotAskTheRuntime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient()
		if got := p.Measure(t.Context()); p.looks != 1 || len(got.Crossings) > 0 {
			t.Errorf("before the first look: %d looks, got %+v; want one, and no shortage", p.looks, got)
		}
		time.Sleep(100 * time.Millisecond)
		p.left.Store(9)
		if got := p.Pressure(t.Context()); len(got.Crossings) > 0 {
			t.Error("a reader did not get the last measurement")
		}
		changed := p.Vitals.Changed()
		got := p.Measure(t.Context())
		if p.looks != 1 || len(got.Due()) != 1 || !got.Due()[0].Since.Equal(time.Now()) {
			t.Errorf("%d looks, got %+v; want no look, and the shortage since now", p.looks, got)
		}
		<-changed // the conditions follow at once
		if short := p.Short(); len(short) != 1 {
			t.Errorf("the node is short of %v, want the disk", short)
		}
		if runtime, _ := p.Look(t.Context()); !runtime.Ready {
			t.Error("the status of the runtime is forgotten")
		}
	})
}

func TestReadersShareALookWhileItIsFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient()
		for _, c := range []struct {
			name string
			do   func()
			want int
		}{
			{"the first", func() {}, 1},
			{"at once", func() {}, 1},
			{"a little later", func() { time.Sleep(4 * time.Second) }, 1},
			{"when the runtime has turned", func() { p.turned.Ring() }, 2},
			{"much later", func() { time.Sleep(6 * time.Second) }, 3},
		} {
			c.do()
			if p.Look(t.Context()); p.looks != c.want {
				t.Errorf("%s: got %d looks, want %d", c.name, p.looks, c.want)
			}
		}
	})
}

func TestARuntimeThatDoesNotAnswerKeepsItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient()
		p.Look(t.Context())
		p.runtime = errors.New("connection refused")
		p.turned.Ring()
		got, conditions := p.Look(t.Context())
		if got.Name != "sim" || got.Ready || got.Message != "connection refused" {
			t.Errorf("got %+v, want it named and not ready", got)
		}
		if ready := conditions[3]; ready.Status != corev1.ConditionFalse || !strings.Contains(ready.Message, "connection refused") {
			t.Errorf("got %+v, want the node not ready", ready)
		}
	})
}

func TestUnreadableSignalsAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient()
		failure := []health.Unread{{Name: "memory.available", Why: "the disk hangs"}}
		for _, c := range []struct {
			unread []health.Unread
			want   int
		}{{failure, 1}, {failure, 1}, {nil, 1}, {failure, 2}} {
			p.unread = c.unread
			time.Sleep(10 * time.Second)
			_, conditions := p.Look(t.Context())
			if got := strings.Count(p.log.String(), "the disk hangs"); got != c.want {
				t.Errorf("after %v it was logged %d times, want %d", c.unread, got, c.want)
			}
			if told := strings.Contains(conditions[0].Message, "the disk hangs"); told != (c.unread != nil) {
				t.Errorf("after %v the condition says %q", c.unread, conditions[0].Message)
			}
		}
	})
}

func TestOtherRulesJudgeTheLastMeasurementAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient()
		p.left.Store(50)
		at := func(least string) []health.Rule {
			return []health.Rule{{Signal: "nodefs.available", Least: health.Threshold{Quantity: resource.MustParse(least)}}}
		}
		p.SetRules(at("20"), 0) // before the first look
		p.Look(t.Context())
		if got := p.Short(); len(got) > 0 {
			t.Errorf("with half of the disk the node is short of %v", got)
		}
		heard := p.Vitals.Changed()
		p.SetRules(at("60"), time.Minute)
		if got := p.Short(); !slices.Equal(got, []corev1.NodeConditionType{corev1.NodeDiskPressure}) {
			t.Errorf("60 have to be left, 50 are, and the node is short of %v", got)
		}
		select {
		case <-heard:
		default:
			t.Error("nobody hears of it")
		}
		p.SetRules(at("40"), time.Minute)
		if got := p.Short(); len(got) != 1 {
			t.Error("a shortage that is over is not held for the new time")
		}
		time.Sleep(time.Minute + time.Second)
		if p.Measure(t.Context()); len(p.Short()) > 0 {
			t.Errorf("the node is short of %v after that time", p.Short())
		}
	})
}
