package reconciler

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"nodal/node"
)

func TestGateLetsThoseCloseToTheEndGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1)
		if err := g.enter(t.Context(), node.StartsContainer); err != nil {
			t.Fatal(err)
		}
		var order []node.Nature
		for _, urgency := range []node.Nature{node.MakesSandbox, node.StartsContainer, node.MakesContainer, node.StartsContainer, node.MakesSandbox} {
			go func() {
				if err := g.enter(t.Context(), urgency); err == nil {
					order = append(order, urgency) // safe without a lock: the gate lets one pass at a time
					g.leave()
				}
			}()
			synctest.Wait()
		}
		g.leave()
		synctest.Wait()
		want := []node.Nature{node.StartsContainer, node.StartsContainer, node.MakesContainer, node.MakesSandbox, node.MakesSandbox}
		if !slices.Equal(order, want) {
			t.Errorf("got %v, want %v", order, want)
		}
	})
}

func TestGateKeepsItsWidthWhenSomeGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(2)
		for range 2 {
			if err := g.enter(t.Context(), node.StartsContainer); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		given := make(chan error)
		go func() { given <- g.enter(ctx, node.StartsContainer) }()
		synctest.Wait()
		cancel()
		if err := <-given; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
		g.leave()
		g.leave()
		if g.free != 2 {
			t.Errorf("got %d places, want 2", g.free)
		}
	})
}

func TestGatePassesOnAPlaceThatCameTooLate(t *testing.T) {
	g := newGate(0)
	turn := make(chan struct{})
	g.waiting[node.StartsContainer] = append(g.waiting[node.StartsContainer], turn)
	g.leave() // the place is given, and then its receiver gives up
	g.giveUp(node.StartsContainer, turn)
	if g.free != 1 {
		t.Errorf("got %d places, want 1", g.free)
	}
}

func TestGateHoldsOnlyActionsThatMakeThings(t *testing.T) {
	g := newGate(0) // nothing gets through
	done := false
	_, err := g.through(t.Context(), node.StopContainer{}, func() (node.Result, error) {
		done = true
		return node.Result{}, nil
	})
	if err != nil || !done {
		t.Errorf("got done %v, error %v; a stop does not wait", done, err)
	}
}
