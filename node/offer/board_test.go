package offer

import (
	"testing"

	"nodal/node/admit"
)

func TestReadersSeeTheLatestOfferAndHearOfTheNext(t *testing.T) {
	var board Board
	if got := board.Read(); got.Revision != 0 || got.Name != "" {
		t.Errorf("before the first offer there is %+v", got)
	}
	board.Post(Offer{Node: admit.Node{Name: "first"}, Revision: 7})
	first, changed := board.Read(), board.Changed()
	if first.Name != "first" || first.Revision != 1 {
		t.Errorf("got %s of revision %d, want the first of revision 1", first.Name, first.Revision)
	}
	select {
	case <-changed:
		t.Error("a reader hears of an offer before there is one")
	default:
	}
	board.Post(Offer{Node: admit.Node{Name: "second"}})
	select {
	case <-changed:
	default:
		t.Error("no reader hears of the second offer")
	}
	if second := board.Read(); second.Name != "second" || second.Revision != 2 || first.Name != "first" {
		t.Errorf("got %s of revision %d beside %s, want both snapshots as they were posted", second.Name, second.Revision, first.Name)
	}
}
