package main

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nodal/test/agent"
)

// Our own binary stands in for the peer: it accepts upstream's configuration, and takes pods from a
// directory as the peer does.
func TestQuickRunFillsEveryRow(t *testing.T) {
	binary, err := agent.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	bin, columns := binaries{nodal: binary, peer: binary, bundle: root + "/host/runtime/embedded", parts: root + "/.cache/parts"}, []string{nodalColumn, peerColumn}
	if testing.Short() {
		bin.peer, columns = "", columns[:1]
	}
	b := newBench(t, bin, quickSizes)
	b.progress = t.Output()
	if err := b.run(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if len(b.gaps) > 0 {
		t.Errorf("not everything was measured: %q", b.gaps)
	}
	for _, r := range b.rows {
		for _, column := range columns {
			got, measured := r.values[column]
			switch {
			case strings.HasSuffix(r.what, "containers restarted"), strings.HasSuffix(r.what, "failures"):
				if got != 0 {
					t.Errorf("%s: %s has %v, want none", r.what, column, got)
				}
			case strings.Contains(r.what, "memory above idle"): // a small attack may be too small to see
			case strings.Contains(r.what, "CPU"), strings.Contains(r.what, "a minute"), column == peerColumn && onlyOurs(r):
				// The kernel counts CPU time in steps that a short run may not reach, and an idle
				// node may send no request for seconds.
			case !measured || got <= 0:
				t.Errorf("%s: %s has %v, want a number above zero", r.what, column, got)
			}
		}
	}
}

// A peer that fails in one section is measured in the next.
func TestAPeerThatFailsIsLeftOutOfTheSection(t *testing.T) {
	all := []*column{{name: nodalColumn}, {name: peerColumn}, {name: rawColumn}}
	b := &suite{columns: all, section: "logs"}
	err := b.each(func(c *column) error {
		if c.name == peerColumn {
			return errors.New("it came as 115")
		}
		return nil
	})
	if err != nil || len(b.columns) != 2 || slices.Contains(b.columns, all[1]) {
		t.Errorf("each gives %v and leaves %d columns, want the peer's to be gone", err, len(b.columns))
	}
	if all[1].name != peerColumn || all[2].name != rawColumn {
		t.Errorf("the columns of the next section are %v", all)
	}
	if want := `the peer was left out of the rest of "logs": it came as 115`; !slices.Equal(b.gaps, []string{want}) {
		t.Errorf("the gaps are %q, want %q", b.gaps, want)
	}
}

// onlyOurs lists the rows for features that a peer lacks.
func onlyOurs(r *row) bool {
	for _, way := range []string{"watcher", "REST", "gRPC", "HTTP probes", "made-up pods", "own runtime", "the node's own", "defence of", "10 volumes", "ConfigMap", "open files", "an admin's answer"} {
		if strings.Contains(r.what, way) {
			return true
		}
	}
	return false
}

func TestVerdict(t *testing.T) {
	values := map[string]float64{rawColumn: 100, nodalColumn: 110, peerColumn: 300}
	for _, c := range []struct {
		name   string
		values map[string]float64
		aim    aim
		want   string
	}{
		{"no aim is neither met nor missed", values, aim{}, ""},
		{"exactly at the limit is met", values, overRaw(10), verdictMet},
		{"above the limit is missed", values, overRaw(9), verdictMissed},
		{"in proportion to raw", values, timesRaw(1.05), verdictMissed},
		{"in proportion to the peer", values, timesPeer(0.5), verdictMet},
		{"a speed above its aim is met", values, atLeast(100, "MB/s"), verdictMet},
		{"a speed below its aim is missed", values, atLeast(500, "MB/s"), verdictMissed},
		{"without a peer there is nothing to say", map[string]float64{nodalColumn: 1}, timesPeer(0.5), verdictUnknown},
		{"without a figure of ours there is nothing to say", map[string]float64{rawColumn: 1}, atMost(1, "ms"), verdictUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := (&row{values: c.values, aim: c.aim}).verdict(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestPowerIsTheSlopeOfTheLogarithms(t *testing.T) {
	for name, c := range map[string]struct {
		costs []float64
		want  float64
	}{
		"as many times as much":    {[]float64{1, 5, 50}, 1},
		"in the square":            {[]float64{1, 25, 2500}, 2},
		"always the same":          {[]float64{7, 7, 7}, 0},
		"a fixed cost and a share": {[]float64{12, 20, 110}, 0.57},
	} {
		if got := power([]int{10, 50, 500}, c.costs); math.Abs(got-c.want) > 0.01 {
			t.Errorf("%s: got the power of %.2f, want %.2f", name, got, c.want)
		}
	}
}

func TestFiguresOfMadeUpPodsAreFound(t *testing.T) {
	if cost, err := costOf(t.Context(), 3, t.TempDir(), 1); err != nil || cost <= 0 {
		t.Errorf("got %v ms (%v), want some", cost, err)
	}
}

func TestMarkdownSaysWhatIsMissing(t *testing.T) {
	took := samples{rawColumn: {time.Millisecond, 9 * time.Millisecond, 2 * time.Millisecond}}
	took.add(nodalColumn, 3*time.Millisecond)
	b := &suite{}
	b.add("one pod", "ms", took.p50(), overRaw(0.5))
	want := "| one pod | ms | 2.00 | 3.00 |  | +1.0 | 1.50 |  | <= raw + 0.5 ms | MISSED |\n"
	got := b.markdown()
	if !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant it to end in\n%s", got, want)
	}
	text, err := b.document(machine{Cores: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{got, "Aims missed: 1", "2 cores"} {
		if !strings.Contains(text, part) {
			t.Errorf("the document has no %q:\n%s", part, text)
		}
	}
}
