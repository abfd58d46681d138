package agent

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// unkept is a journal that keeps nothing.
type unkept struct{}

func (unkept) Commit(...store.Record) error         { return nil }
func (unkept) CommitReserved(...store.Record) error { return nil }

func emptyStore(t *testing.T) *store.Store {
	t.Helper()
	clock, err := store.OpenClock(unkept{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return store.New(unkept{}, clock)
}

// settle puts a pod into the store. A phase is its final one; empty if the pod is pending.
func settle(t *testing.T, s *store.Store, name string, phase corev1.PodPhase) {
	t.Helper()
	object := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "app"}}}}
	object.Namespace, object.Name, object.UID = "default", name, types.UID(name)
	slot := &node.Slot{Pod: &node.Pod{Object: object}}
	if phase != "" {
		slot.Result = &corev1.PodStatus{Phase: phase}
	}
	if _, err := s.Transact(func(tx *store.Tx) error {
		tx.Put(node.KeyOf(object), slot)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestRunOnceWaitsForEachPodAndReportsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, delivered := emptyStore(t), make(chan struct{})
		stopped := false
		reconcile := func(ctx context.Context) error { // a pod ends after a minute, the other a minute later
			time.Sleep(time.Minute)
			settle(t, s, "a", "")
			settle(t, s, "b", "")
			close(delivered)
			time.Sleep(time.Minute)
			settle(t, s, "a", corev1.PodSucceeded)
			time.Sleep(time.Minute)
			settle(t, s, "b", corev1.PodSucceeded)
			<-ctx.Done()
			stopped = true
			return ctx.Err()
		}
		var out bytes.Buffer
		began := time.Now()
		err := once(t.Context(), []task{reconcile}, delivered, reader{store: s}, &out)
		if err != nil || time.Since(began) != 3*time.Minute || !stopped {
			t.Errorf("got %v after %s, tasks stopped: %t; want the end of the last pod", err, time.Since(began), stopped)
		}
		if want := "default/a\tSucceeded\t\ndefault/b\tSucceeded\t\n"; out.String() != want {
			t.Errorf("reported is %q, want %q", out.String(), want)
		}
	})
}

func TestRunOnceFailsUnlessEachPodRuns(t *testing.T) {
	wait := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	fail := func(context.Context) error { return errors.New("no runtime") }
	for _, c := range []struct {
		name      string
		phase     corev1.PodPhase
		delivered bool
		task      task
		want      string
		after     time.Duration
	}{
		{"a pod that fails", corev1.PodFailed, true, wait, errSomeFailed.Error(), 0},
		{"a pod that does not start", "", true, wait, errSomeFailed.Error(), onceTimeout},
		{"a source that delivers nothing", corev1.PodSucceeded, false, wait, "wait for the pod sources", onceTimeout},
		{"a task that fails", "", true, fail, "no runtime", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := emptyStore(t)
			settle(t, s, "a", c.phase)
			delivered := make(chan struct{})
			if c.delivered {
				close(delivered)
			}
			began := time.Now()
			err := once(t.Context(), []task{c.task}, delivered, reader{store: s}, &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), c.want) || time.Since(began) != c.after {
				t.Errorf("%s: got %v after %s, want %q after %s", c.name, err, time.Since(began), c.want, c.after)
			}
		})
	}
}
