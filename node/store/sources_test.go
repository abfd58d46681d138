package store

import (
	"testing"
	"time"

	"nodal/node"
)

func TestSourcesAreReadyWhenAllHaveDelivered(t *testing.T) {
	ready := func(s *Sources) bool {
		select {
		case <-s.Ready():
			return true
		default:
			return false
		}
	}
	now := time.Unix(1000, 0)
	if !ready(NewSources(nil)) {
		t.Error("a node without sources waits for one")
	}
	s := NewSources(map[node.Source]string{node.SourceFile: "/pods", node.SourceURL: "http://pods"})
	s.Delivered(node.SourceFile, now, nil)
	s.Delivered(node.SourceAPI, now, nil) // not announced
	s.Failed(node.SourceURL, SourceError{Origin: "http://pods", Message: "refused"})
	if ready(s) {
		t.Error("ready before the URL has delivered")
	}
	s.Delivered(node.SourceURL, now, nil)
	s.Delivered(node.SourceURL, now, nil)
	if !ready(s) {
		t.Error("not ready though all have delivered")
	}
}

func TestBoardShowsWhatIsWrongNow(t *testing.T) {
	now := time.Unix(1000, 0)
	s := NewSources(map[node.Source]string{node.SourceURL: "http://pods", node.SourceFile: "/pods"})
	errors := map[string]SourceError{"/pods/a": {Origin: "/pods/a", Message: "wrong"}}
	s.Delivered(node.SourceFile, now, errors)
	errors["/pods/b"] = SourceError{} // the board keeps its own
	list := s.List()
	if len(list) != 2 || list[0].Source != node.SourceFile || list[1].Source != node.SourceURL {
		t.Fatalf("list = %+v, want file and url", list)
	}
	if got := list[0]; got.Location != "/pods" || !got.Delivered.Equal(now) || len(got.Errors) != 1 {
		t.Errorf("file = %+v, want one error", got)
	}
	s.Failed(node.SourceFile, SourceError{Origin: "/pods", Message: "gone"})
	if got := s.List()[0]; !got.Delivered.Equal(now) || got.Errors["/pods"].Message != "gone" {
		t.Errorf("file = %+v, want it to have delivered and to be gone", got)
	}
	s.Delivered(node.SourceFile, now.Add(time.Second), nil)
	if got := s.List()[0]; len(got.Errors) != 0 {
		t.Errorf("errors = %v, want none", got.Errors)
	}
}
