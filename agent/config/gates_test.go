package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Each gate that upstream's kubelet uses has its row, and no other has one.
func TestEveryGateOfTheKubeletHasARow(t *testing.T) {
	rows := map[string]int{}
	for _, g := range gates {
		rows[g.name]++
		if known, found := knownGates[g.name]; !found || !known.kubelet {
			t.Errorf("%s has a row, and upstream's kubelet does not use it", g.name)
		}
		if g.here == never && g.means == "" {
			t.Errorf("%s: say what this node does without it", g.name)
		}
	}
	for name, g := range knownGates {
		if g.kubelet && rows[name] != 1 {
			t.Errorf("%s has %d rows, want one", name, rows[name])
		}
	}
	if !slices.IsSortedFunc(gates, func(a, b gate) int { return strings.Compare(a.name, b.name) }) {
		t.Error("the rows are not sorted")
	}
}

// With each value of each gate the configuration loads, but for those that upstream refuses too. A gate that is not as
// it was asked for is named, once.
func TestNoGateOfUpstreamStopsTheStart(t *testing.T) {
	loaded := 0
	for name, known := range knownGates {
		for _, on := range []bool{true, false} {
			c, err := Load([]string{fmt.Sprintf("--feature-gates=%s=%t", name, on)})
			if refused := known.fixed && on != known.on; refused {
				if err == nil || !strings.Contains(err.Error(), "featureGates["+name+"]") || !strings.Contains(err.Error(), "locked to") {
					t.Errorf("%s=%t: got %v, want an error that names the gate as locked", name, on, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s=%t: %v", name, on, err)
				continue
			}
			loaded++
			shown := c.Gates()[slices.IndexFunc(c.Gates(), func(g Gate) bool { return g.Name == name })]
			named := 0
			for _, u := range Unhonoured(c) {
				if u.Setting != "featureGates["+name+"]" || u.Means == "" {
					t.Errorf("%s=%t: %v is named too", name, on, u)
				}
				named++
			}
			if want := shown.Unmet; (named == 1) != want || named > 1 {
				t.Errorf("%s=%t is named %d times; is it unmet? %t", name, on, named, want)
			}
		}
	}
	if loaded < len(knownGates) {
		t.Errorf("%d values were good, want at least one of each of %d gates", loaded, len(knownGates))
	}
}

func TestAGateThatUpstreamDoesNotKnowIsRefused(t *testing.T) {
	for _, name := range []string{"WarpDrive", "CSIMigrationPortworx", "ComponentSLIs"} {
		_, err := Load([]string{"--feature-gates=" + name + "=true"})
		if err == nil || !strings.Contains(err.Error(), "featureGates["+name+"]") || !strings.Contains(err.Error(), "leave it out") {
			t.Errorf("%s: got %v, want an error that names it and says what to do", name, err)
		}
	}
}

func TestGatesSayWhatIsInForce(t *testing.T) {
	c := load(t, "--feature-gates=NodeSwap=true,EventedPLEG=false,EnvFiles=true,PLEGOnDemandRelist=false,AllBeta=false,GangScheduling=true,NativeHistograms=true")
	got := map[string]Gate{}
	for _, g := range c.Gates() {
		got[g.Name] = g
	}
	yes, no := true, false
	for _, want := range []Gate{
		{Name: "NodeSwap", Stage: "ga", Told: &yes, InForce: true, Means: "memorySwap.swapBehavior itself decides", Unmet: false},
		{Name: "EventedPLEG", Stage: "alpha", Told: &no, InForce: true, Means: "the runtime's events are always heard, besides regular looks", Unmet: true},
		{Name: "EnvFiles", Stage: "beta", Told: &yes, InForce: true, Means: usualMeaning[always], Unmet: false},
		{Name: "NativeHistograms", Stage: "beta", Told: &yes, InForce: false, Means: "histograms have fixed buckets", Unmet: true},
		{Name: "PLEGOnDemandRelist", Stage: "ga", Told: &no, InForce: false, Means: usualMeaning[inside], Unmet: false},
		{Name: "AllBeta", Stage: "beta", Told: &no, InForce: false, Means: "no gate follows it; name each gate", Unmet: true},
		{Name: "GangScheduling", Stage: "", Told: &yes, InForce: true, Means: "it belongs to another component than the kubelet", Unmet: false},
		{Name: "ImageVolume", Stage: "ga", Told: nil, InForce: true, Means: usualMeaning[always], Unmet: false},
		{Name: "PodCertificateRequest", Stage: "ga", Told: nil, InForce: false, Means: "pods with podCertificate volumes are refused", Unmet: false},
	} {
		g := got[want.Name]
		want.Default = knownGates[want.Name].on
		if want.Stage == "" {
			want.Stage = g.Stage
		}
		if (g.Told == nil) != (want.Told == nil) || g.Told != nil && *g.Told != *want.Told {
			t.Errorf("%s was told %v, want %v", want.Name, g.Told, want.Told)
		}
		if g.Told = want.Told; g != want {
			t.Errorf("got %+v, want %+v", g, want)
		}
	}
}
