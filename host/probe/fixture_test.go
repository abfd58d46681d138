package probe

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

var key = node.Key{Namespace: "default", Name: "web"}

// ward is a prober whose commands answer as a test says, in a bubble of fake time that
// begins with the prober.
type ward struct {
	*Prober
	t     *testing.T
	began time.Time

	mu     sync.Mutex
	ask    func(asked int) (exit int32, err error) // by how often was asked before
	takes  func(asked int) time.Duration
	asked  []time.Duration // since the beginning
	ended  int             // commands that were cancelled
	words  []string
	events []node.Event
}

var _ Execer = (*ward)(nil)

func inBubble(t *testing.T, test func(w *ward)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &ward{t: t, began: time.Now(), ask: answers(0), takes: always(0)}
		w.Prober = New(Config{Exec: w, Tell: w.tell})
		stop, heard := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(heard)
			w.hear(stop)
		}()
		test(w)
		w.Close()
		close(stop)
		<-heard
	})
}

func (w *ward) ExecSync(ctx context.Context, _ string, _ []string, _ time.Duration) (out, failed []byte, exit int32, err error) {
	w.mu.Lock()
	n := len(w.asked)
	w.asked = append(w.asked, time.Since(w.began))
	w.mu.Unlock()
	select {
	case <-time.After(w.takes(n)):
	case <-ctx.Done():
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ended++
		return nil, nil, 0, ctx.Err()
	}
	exit, err = w.ask(n)
	return []byte("out"), nil, exit, err
}

func (w *ward) tell(e node.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

func (w *ward) hear(stop chan struct{}) {
	for {
		select {
		case p := <-w.Results():
			word := "fails"
			if p.OK {
				word = "passes"
			}
			w.mu.Lock()
			w.words = append(w.words, fmt.Sprintf("%s %s %s at %s", p.ID, p.Kind, word, time.Since(w.began)))
			w.mu.Unlock()
		case <-stop:
			return
		}
	}
}

// rest lets time go on, and everything that is due happen.
func (w *ward) rest(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *ward) wantWords(want ...string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := strings.Join(w.words, "; "); got != strings.Join(want, "; ") {
		w.t.Errorf("words:\ngot  %s\nwant %s", got, strings.Join(want, "; "))
	}
}

func (w *ward) wantAsked(want ...time.Duration) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := fmt.Sprint(w.asked); got != fmt.Sprint(want) {
		w.t.Errorf("asked at %s, want %s", got, want)
	}
}

func (w *ward) wantEvents(want ...string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var got []string
	for _, e := range w.events {
		got = append(got, fmt.Sprintf("%s x%d %s", e.Reason, e.Count, e.Message))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		w.t.Errorf("events:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// fresh is a probe of a run that begins now, asked every ten seconds.
func (w *ward) fresh(kind node.ProbeKind, change ...func(*corev1.Probe)) node.Probe {
	spec := &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"ask"}}},
		PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
	}
	for _, c := range change {
		c(spec)
	}
	return node.Probe{UID: "u1", Container: "app", ID: "c1", Kind: kind, Spec: spec, Address: "10.0.0.1", StartedAt: time.Now()}
}

func delay(seconds int32) func(*corev1.Probe) {
	return func(p *corev1.Probe) { p.InitialDelaySeconds = seconds }
}

func thresholds(success, failure int32) func(*corev1.Probe) {
	return func(p *corev1.Probe) { p.SuccessThreshold, p.FailureThreshold = success, failure }
}

// always lets every command take this long.
func always(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

// answers gives exit codes in turn, the last one for ever.
func answers(codes ...int32) func(int) (int32, error) {
	return func(asked int) (int32, error) { return codes[min(asked, len(codes)-1)], nil }
}
