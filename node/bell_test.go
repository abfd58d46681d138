package node

import "testing"

func TestABellWakesPresentWaitersOnly(t *testing.T) {
	var bell Bell
	rung := func(heard <-chan struct{}) bool {
		select {
		case <-heard:
			return true
		default:
			return false
		}
	}
	bell.Ring() // without a waiter
	first, second := bell.Heard(), bell.Heard()
	if rung(first) || rung(second) {
		t.Error("woken by a ring that was before")
	}
	bell.Ring()
	if !rung(first) || !rung(second) {
		t.Error("not woken by the ring")
	}
	if rung(bell.Heard()) {
		t.Error("woken by a ring that was before")
	}
}
