package agent

import (
	"slices"
	"testing"

	"nodal/agent/config"
	"nodal/server"
)

func TestTheMachineMayKeepASettingFromItsEffect(t *testing.T) {
	c, err := config.Load([]string{"--max-pods=7", "--feature-gates=EventedPLEG=false"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := tellSettings(c, []config.Warning{{Setting: "maxPods", Problem: "the machine is too small"}})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(got.All, func(s server.Setting) bool { return s.Name == "maxPods" })
	if s := got.All[at]; s.Source != "--max-pods" || string(s.Value) != "7" || s.Instead != "the machine is too small" {
		t.Errorf("got %+v, want the flag's value and what the machine does instead", s)
	}
	at = slices.IndexFunc(got.Gates, func(g server.FeatureGate) bool { return g.Name == "EventedPLEG" })
	if g := got.Gates[at]; g.Told == nil || *g.Told || !g.InForce || !g.Unmet {
		t.Errorf("got %+v, want a gate that is on although it was told off", g)
	}
}
