package differences

import (
	"reflect"
	"testing"
)

func TestFactsHaveTheNamesOfTheirPlaces(t *testing.T) {
	got := Facts{}
	err := got.Add("Node", []byte(`{"a": {"b": 1}, "c": [{"type": "Ready", "status": "True"}, {"ip": "x"}], "d": ["p", "q"], "e": [], "f": null}`))
	want := Facts{"Node.a.b": "1", "Node.c[Ready].status": "True", "Node.c[1].ip": "x", "Node.d": "p q", "Node.e": "", "Node.f": "<nil>"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	got.Drop("Node.c[*", "Node.e")
	if want := (Facts{"Node.a.b": "1", "Node.d": "p q", "Node.f": "<nil>"}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestEachDifferenceNeedsALineAndEachLineADifference(t *testing.T) {
	found := Compare(
		Facts{"same": "1", "version": "v1.36", "theirs": "a|b", "other": "1"},
		Facts{"same": "1", "version": "v1.37", "ours": "2", "other": "2"},
	)
	want := []Difference{{"other", "1", "2"}, {"ours", Absent, "2"}, {"theirs", "a/b", Absent}, {"version", "v1.36", "v1.37"}}
	if !reflect.DeepEqual(found, want) {
		t.Fatalf("got %v, want %v", found, want)
	}
	unlisted, stale := Check(found, []Row{
		{Names: []string{"ver*"}, Cells: []string{"ver*", "v1.*", "v1.37"}},
		{Names: []string{"ours", "gone"}, Cells: []string{"ours, gone", "none", "*"}},
		{Names: []string{"theirs"}, Cells: []string{"theirs", "*", "1"}},
	})
	if want := []Difference{{"other", "1", "2"}, {"theirs", "a/b", Absent}}; !reflect.DeepEqual(unlisted, want) {
		t.Errorf("without a line are %v, want %v", unlisted, want)
	}
	if len(stale) != 2 || stale[0].Names[0] != "gone" || stale[1].Names[0] != "theirs" {
		t.Errorf("without a difference are %v, want gone and theirs", stale)
	}
}
