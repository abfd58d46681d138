package surplus

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

type outer struct {
	inlined `json:",inline"`
	Runs    []run          `json:"Runs"`
	Health  map[string]run `json:"Health"`
	Only    *run           `json:"Only,omitempty"`
	Plain   []thing        `json:"Plain,omitempty"`
	At      time.Time      `json:"At"`
	Hidden  string         `json:"-"`
}

type inlined struct {
	Word string `json:"word,omitempty"`
}

type run struct {
	ID    string `json:"ID"`
	Count int    `json:"Count"`
}

type thing struct {
	Size int `json:"size"`
}

const recorded = `{"word":"w","New":9007199254740993,"Hidden":"shown","at":"2026-11-23T12:00:00Z",
	"Runs":[{"ID":"a","Count":1},{"ID":"b","Count":2,"Weight":3}],
	"Health":{"app":{"ID":"c","Count":4,"Deep":{"x":[1]}}},
	"Only":{"ID":"d","Count":5,"Mood":"good"},
	"Plain":[{"size":1,"colour":"red"}]}`

func found(t *testing.T) (*Tree, outer) {
	t.Helper()
	over, err := NewFinder().Of([]byte(recorded), reflect.TypeFor[outer]())
	if err != nil {
		t.Fatal(err)
	}
	var value outer
	if err := json.Unmarshal([]byte(recorded), &value); err != nil {
		t.Fatal(err)
	}
	return over, value
}

func again(t *testing.T, over *Tree, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err == nil {
		data, err = over.AddTo(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSurplusIsFoundWhereverItIs(t *testing.T) {
	over, _ := found(t)
	got := strings.Join(over.Paths(), " ")
	if want := "Health.app.Deep Hidden New Only.Mood Plain.0.colour Runs.1.Weight"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestKnownFieldsAreNoSurplus(t *testing.T) {
	_, value := found(t)
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if over, err := NewFinder().Of(data, reflect.TypeFor[*outer]()); over != nil || err != nil {
		t.Errorf("got %v, %v; want none", over.Paths(), err)
	}
}

func TestSurplusStaysWithItsValue(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*outer)
		without string // of the paths, those that are gone
	}{
		{"nothing changes", func(*outer) {}, ""},
		{"known fields change", func(o *outer) { o.Runs[1].Count, o.Word, o.Plain[0].Size = 7, "v", 2 }, ""},
		{"a list is turned around", func(o *outer) { o.Runs[0], o.Runs[1] = o.Runs[1], o.Runs[0] }, ""},
		{"an element goes", func(o *outer) { o.Runs = o.Runs[:1] }, "Weight"},
		{"a value goes", func(o *outer) { o.Only = nil }, "Mood"},
		{"another takes its place", func(o *outer) { o.Health["app"] = run{ID: "e", Count: 4} }, "Deep"},
		{"a list without names becomes shorter", func(o *outer) { o.Plain = nil }, "colour"},
	} {
		t.Run(c.name, func(t *testing.T) {
			over, value := found(t)
			c.change(&value)
			got := again(t, over, value)
			for _, field := range []string{"New", "Weight", "Deep", "Mood", "colour"} {
				if kept, want := strings.Contains(got, field), field != c.without; kept != want {
					t.Errorf("%s is kept: %t, want %t, in %s", field, kept, want, got)
				}
			}
			if !strings.Contains(got, `"New":9007199254740993`) {
				t.Errorf("got %s, want the number as it was written", got)
			}
		})
	}
}

func TestPartsOfSurplusAreTakenApartAndPutTogether(t *testing.T) {
	over, value := found(t)
	only := over.Below("Only")
	rest := over.Without("Only")
	if got := strings.Join(rest.Paths(), " "); strings.Contains(got, "Only") {
		t.Errorf("without Only it is %s", got)
	}
	if got, want := again(t, rest.With("Only", only), value), again(t, over, value); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var none *Tree
	if got, want := again(t, none.With("Only", only), value), `"Mood":"good"`; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s in it", got, want)
	}
}

func TestNoSurplusLeavesTheBytesAlone(t *testing.T) {
	var none *Tree
	got, err := none.AddTo([]byte("{ }"))
	if string(got) != "{ }" || err != nil {
		t.Errorf("got %q, %v; want what was given", got, err)
	}
}
