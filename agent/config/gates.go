package config

import (
	_ "embed"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kubelet "k8s.io/kubelet/config/v1beta1"
)

// upstreamGates are all gates with which upstream's kubelet starts, in the releases whose settings this package knows.
// Most belong to other components, which share the list. go run ./test/gates writes the file.
//
//go:embed gates.txt
var upstreamGates string

// An upstreamGate is a line of gates.txt.
type upstreamGate struct {
	stage    string
	on       bool // by default, in the newest release
	fixed    bool // no release lets it be set to anything but its default
	kubelet  bool // the kubelet uses it
	releases string
}

var knownGates = readGates(upstreamGates)

func readGates(text string) map[string]upstreamGate {
	all := map[string]upstreamGate{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		all[words[0]] = upstreamGate{
			stage: words[1], on: words[2] == "on", fixed: words[3] == "fixed", kubelet: words[4] == "kubelet", releases: words[5],
		}
	}
	return all
}

// A Gate is a feature gate of upstream's, and what it does here.
type Gate struct {
	Name    string
	Stage   string // of upstream: alpha, beta, ga or deprecated
	Default bool   // of upstream's newest release
	Told    *bool  // what files and flags say; nil if they say nothing
	InForce bool
	Means   string // what this node does whatever it is told; empty if it follows the gate
	Unmet   bool   // the node was told something else
}

// Gates returns all gates that upstream's kubelet knows, sorted by their names.
func (c *Config) Gates() (all []Gate) {
	own := map[string]gate{}
	for _, g := range gates {
		own[g.name] = g
	}
	for _, name := range slices.Sorted(maps.Keys(knownGates)) {
		known := knownGates[name]
		g := Gate{Name: name, Stage: known.stage, Default: known.on, InForce: known.on, Means: "it belongs to another component than the kubelet"}
		told, given := c.given.options.Kubelet.FeatureGates[name]
		if given {
			g.Told, g.InForce = &told, told
		}
		if row, found := own[name]; found {
			g.InForce, g.Means = row.inForce(g.InForce), row.meaning()
			g.Unmet = given && (row.here == grouped || told != g.InForce)
		}
		all = append(all, g)
	}
	return all
}

// inForce returns whether the gate counts as on, if it was told or is by default what asked says.
func (g gate) inForce(asked bool) bool {
	switch g.here {
	case always:
		return true
	case never, grouped:
		return false
	}
	return asked
}

func (g gate) meaning() string {
	if g.means == "" {
		return usualMeaning[g.here]
	}
	return g.means
}

// gateOn reports whether a gate that the node follows is on.
func gateOn(k *kubelet.KubeletConfiguration, name string) bool {
	on, given := k.FeatureGates[name]
	return given && on || !given && knownGates[name].on
}

// unmetGates returns the gates that ask for something else than this node does.
func unmetGates(c *Config) (all []Unmet) {
	for _, g := range c.Gates() {
		if g.Unmet {
			all = append(all, Unmet{"featureGates[" + g.Name + "]", g.Means})
		}
	}
	return all
}

// validateGates refuses what upstream refuses: gates that no release has, and other values than the fixed ones.
func validateGates(k *kubelet.KubeletConfiguration) (errs field.ErrorList) {
	for _, name := range slices.Sorted(maps.Keys(k.FeatureGates)) {
		path, on := field.NewPath("featureGates").Key(name), k.FeatureGates[name]
		switch known, found := knownGates[name]; {
		case !found:
			errs = append(errs, field.Invalid(path, on, "unknown feature gate: Kubernetes 1.36 and 1.37 have none of that name; leave it out"))
		case known.fixed && on != known.on:
			errs = append(errs, field.Invalid(path, on, "the gate is locked to "+strconv.FormatBool(known.on)+"; leave it out"))
		}
	}
	return errs
}
