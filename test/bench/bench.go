package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// sizes says how much the benchmark measures.
type sizes struct {
	singles  int   // pods one by one
	bursts   []int // pods at once
	repeats  int   // repetitions of bursts, restarts and streams
	changes  int   // number of kills and edits
	restart  int   // pods that run while the agent restarts
	crowds   []int // numbers of idle pods
	idle     time.Duration
	settle   time.Duration // pause before an idle node is measured
	requests int
	scrapes  int
	growth   []int // numbers of pods on a made-up node
	logBytes int
	probes   int           // HTTP probes, each once a second
	probing  time.Duration // how long the probes run

	hostile int           // the most connections of an attack
	siege   time.Duration // how long an attack lasts
	relief  time.Duration // pause after it

	imageBytes int64 // size of an image that many pods share

	bound  int           // pods that a cluster binds at once
	minute time.Duration // how long an idle node in a cluster is watched: it renews a lease every ten seconds
}

var fullSizes = sizes{
	singles: 20, bursts: []int{10, 50}, repeats: 3, changes: 7, restart: 50,
	crowds: []int{0, 50, 100}, idle: 20 * time.Second, settle: 3 * time.Second,
	requests: 200, scrapes: 20, growth: []int{10, 50, 100, 250, 500}, logBytes: 200_000_000, probes: 1000, probing: 20 * time.Second,
	hostile: 10_000, siege: 20 * time.Second, relief: 10 * time.Second,
	imageBytes: 200_000_000, bound: 30, minute: time.Minute,
}

var quickSizes = sizes{
	singles: 1, bursts: []int{2}, repeats: 1, changes: 1, restart: 2,
	crowds: []int{0, 2}, idle: time.Second,
	requests: 5, scrapes: 2, growth: []int{5, 50}, logBytes: 2_000_000, probes: 20, probing: 2 * time.Second,
	hostile: 20, siege: 500 * time.Millisecond,
	imageBytes: 2_000_000, bound: 2, minute: time.Second,
}

// binaries holds the kubelets to measure: ours, and a peer unless its path is empty. bundle is the
// directory of our kubelet's runtime, parts that of the control plane's programs.
type binaries struct{ nodal, peer, bundle, parts string }

// suite is one run of all sections over all columns.
type suite struct {
	t        testing.TB // its clean-up undoes everything
	sizes    sizes
	binaries binaries
	columns  []*column
	rows     []*row
	section  string   // the section under way
	gaps     []string // measurements that failed
	notes    []string // notes below the table
	pods     int      // the number of pods made so far, from which names come
	progress io.Writer
	started  time.Time
	load     string // the load of the machine when the run began
}

type section struct {
	name string
	run  func(context.Context) error
}

func (b *suite) sections() []section {
	return []section{
		{"start", b.start}, {"init", b.initContainers}, {"burst", b.burst}, {"kill", b.kill}, {"edit", b.edit},
		{"delete", b.delete}, {"restart", b.restart}, {"crowd", b.crowd}, {"stats", b.stats}, {"logs", b.logs}, {"exec", b.exec}, {"probes", b.probes}, {"volumes", b.volumes}, {"shared", b.shared}, {"strangers", b.strangers}, {"own", b.own}, {"floor", b.floor}, {"defence", b.defence},
		{"cluster", b.cluster},
	}
}

// newBench starts a containerd for each column, and the kubelets on them.
func newBench(t testing.TB, bin binaries, amounts sizes) *suite {
	b := &suite{t: t, sizes: amounts, binaries: bin, progress: io.Discard, started: time.Now(), load: loadAverage()}
	b.columns = append(b.columns, newRaw(t))
	nodal, err := newNodal(t, bin.nodal)
	if err != nil {
		t.Fatalf("start %s: %v", bin.nodal, err)
	}
	b.columns = append(b.columns, nodal)
	if bin.peer == "" {
		return b
	}
	peer, err := newPeer(t, bin.peer)
	if err != nil {
		b.gaps = append(b.gaps, fmt.Sprintf("%s did not start, so its column is empty: %v", bin.peer, err))
		return b
	}
	b.columns = append(b.columns, peer)
	return b
}

// run measures the named sections, or all of them.
func (b *suite) run(ctx context.Context, only string) error {
	b.section = "warm up"
	if err := b.each(func(c *column) error { return b.warmUp(ctx, c) }); err != nil {
		return fmt.Errorf("%s: %w", b.section, err)
	}
	columns := b.columns
	for _, s := range b.sections() {
		if only != "" && !slices.Contains(strings.Split(only, ","), s.name) {
			continue
		}
		began := time.Now()
		b.columns, b.section = columns, s.name
		if err := s.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(b.progress, "bench: %-8s %4.0f s\n", s.name, time.Since(began).Seconds())
	}
	return nil
}

// warmUp pulls the images and runs a pod, so that the first sample is not slower than the others.
func (b *suite) warmUp(ctx context.Context, c *column) error {
	if err := c.pull(ctx, "probe", "probe2", "busybox"); err != nil {
		return err
	}
	pods := b.newPods(c, 1)
	if _, err := c.run(ctx, pods...); err != nil {
		return err
	}
	return c.clear(ctx, pods...)
}

// each runs one measurement on every column. A peer that fails is left out of the rest of the
// section; other columns must not fail.
func (b *suite) each(measure func(*column) error) error {
	for _, c := range b.columns {
		err := measure(c)
		if err != nil && c.name == peerColumn {
			b.gaps = append(b.gaps, fmt.Sprintf("the peer was left out of the rest of %q: %v", b.section, err))
			b.columns = slices.DeleteFunc(slices.Clone(b.columns), func(o *column) bool { return o == c })
			continue
		}
		if err != nil && c.process != nil {
			return fmt.Errorf("%s: %w, and its log ends with\n%s", c.name, err, c.process.LogTail())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// eachAgent runs one measurement on every column that is a process.
func (b *suite) eachAgent(measure func(*column) error) error {
	return b.each(func(c *column) error {
		if c.process == nil {
			return nil
		}
		return measure(c)
	})
}

// add adds a row to the table.
func (b *suite) add(what, unit string, values map[string]float64, goal aim) {
	b.rows = append(b.rows, &row{what: what, unit: unit, values: values, aim: goal})
}

// newPods returns n pods with unused names.
func (b *suite) newPods(c *column, n int) []pod {
	var made []pod
	for range n {
		b.pods++
		made = append(made, pod{name: fmt.Sprintf("bench-%d", b.pods), image: c.rt.Image("probe"), args: []string{"pause"}})
	}
	return made
}
