package cri_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"nodal/node"
	sim "nodal/sim/cri"
)

func TestWatchWakesForChangedPods(t *testing.T) {
	onSim(t, sim.Config{}, func(f *fixture, server *sim.Server) {
		woken, relisted := make(chan node.Key, 64), make(chan struct{}, 64)
		ended := make(chan error, 1)
		go func() {
			ended <- f.cri.Watch(f.Context(), func(k node.Key) { woken <- k }, func() { relisted <- struct{}{} })
		}()
		synctest.Wait()
		f.pod.Object.Spec.Containers[0].Args = []string{"exit", "1", "after", "1s"}
		f.start()
		synctest.Wait()
		for len(woken) > 0 {
			<-woken
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(woken) != 1 || <-woken != f.pod.Key() {
			t.Errorf("the death of a container woke not just %s", f.pod.Key())
		}
		if len(relisted) != 1 {
			t.Errorf("%d relists, want the one at the start", len(relisted))
		}
		server.Crash()
		if err := <-ended; !errors.Is(err, node.ErrUnavailable) {
			t.Errorf("the watch ended with %v, want unavailable", err)
		}
	})
}

func TestWatchOfARuntimeWithoutEventsIsUnsupported(t *testing.T) {
	onSim(t, sim.Config{Legacy: true}, func(f *fixture, _ *sim.Server) {
		err := f.cri.Watch(f.Context(), func(node.Key) {}, func() {})
		if !errors.Is(err, node.ErrUnsupported) {
			t.Errorf("got %v, want unsupported", err)
		}
	})
}
