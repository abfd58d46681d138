package main

import (
	"maps"
	"testing"
)

const declared = `package features

const (
	Old featuregate.Feature = "Old"
	Renamed featuregate.Feature = "CalledOtherwise"
	Coming featuregate.Feature = "Coming"
)

var gates = map[featuregate.Feature]featuregate.VersionedSpecs{
	Old: {
		{Version: version.MustParse("1.20"), Default: false, PreRelease: featuregate.Alpha},
		{Version: version.MustParse("1.36"), Default: true, PreRelease: featuregate.GA, LockToDefault: true},
		{Version: version.MustParse("1.38"), Default: false, PreRelease: featuregate.Deprecated},
	},
	Renamed: {{Version: mustParse("1.35"), Default: true, PreRelease: Beta}},
	other.Foreign: {
		{Version: version.MustParse("1.34"), Default: false, PreRelease: featuregate.Alpha},
	},
	Coming: {
		{Version: version.MustParse("1.38"), Default: true, PreRelease: featuregate.Beta},
	},
}

var needs = map[featuregate.Feature][]featuregate.Feature{Old: {}, Renamed: {Old}}
`

func TestAGateIsAsItsReleaseHasIt(t *testing.T) {
	got, err := specsOf("features.go", declared, 37)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]spec{
		"Old":             {stage: "ga", on: true, fixed: true, constant: "Old"},
		"CalledOtherwise": {stage: "beta", on: true, constant: "Renamed"},
		"Foreign":         {stage: "alpha", constant: "Foreign"},
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestALineTellsWhatAllReleasesSay(t *testing.T) {
	releases := []release{
		{"1.36", map[string]spec{"A": {"beta", true, false, "OfA"}, "B": {"ga", true, true, "B"}}, map[string]bool{"OfA": true}},
		{"1.37", map[string]spec{"A": {"ga", true, true, "OfA"}, "C": {"alpha", false, false, "C"}}, nil},
	}
	want := "A ga on free kubelet 1.36,1.37\nB ga on fixed other 1.36\nC alpha off free other 1.37\n"
	if got := table(releases); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
