package metrics

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"nodal/node"
)

// Probes writes the body of /metrics/probes.
func Probes(counts []*node.ProbeCount) []byte {
	slices.SortFunc(counts, func(a, b *node.ProbeCount) int {
		return cmp.Or(cmp.Compare(a.Key.String(), b.Key.String()), cmp.Compare(a.Container, b.Container),
			cmp.Compare(a.Kind, b.Kind))
	})
	total := &family{
		name: "prober_probe_total", kind: counter, labels: []string{"probe_type", "result", "container", "pod", "namespace",
			"pod_uid"},
		help: "[BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.",
	}
	took := &family{name: "prober_probe_duration_seconds", kind: histogram,
		help: "[ALPHA] Duration in seconds for a probe response."}
	for _, c := range counts {
		for _, r := range []struct {
			result string
			count  uint64
		}{{"successful", c.Successes}, {"failed", c.Failures}, {"unknown", c.Unknown}} {
			if r.count > 0 {
				total.add(float64(r.count), time.Time{}, string(c.Kind), r.result, c.Container, c.Key.Name, c.Key.Namespace,
					string(c.UID))
			}
		}
		if c.Successes > 0 {
			took.addHistogram(c)
		}
	}
	return text(total, took)
}

// addHistogram appends the lines of one histogram. Its buckets are cumulative.
func (f *family) addHistogram(c *node.ProbeCount) {
	base := appendLabel(nil, "probe_type", string(c.Kind))
	for _, l := range [][2]string{{"container", c.Container}, {"pod", c.Key.Name}, {"namespace", c.Key.Namespace}} {
		base = appendLabel(base, l[0], l[1])
	}
	line := func(suffix string, value float64, labels ...string) {
		part := &family{name: f.name + suffix, labels: []string{"le"}}
		part.addTo(base, value, time.Time{}, labels)
		f.lines = append(f.lines, part.lines...)
	}
	within := uint64(0)
	for i, bound := range c.Took.Bounds() {
		within += c.Took.Counts[i]
		line("_bucket", float64(within), strconv.FormatFloat(bound.Seconds(), 'g', -1, 64))
	}
	line("_bucket", float64(c.Successes), "+Inf")
	line("_sum", c.Took.Sum.Seconds())
	line("_count", float64(c.Successes))
}
