package reconciler_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"nodal/node"
	"nodal/reconciler"
	"nodal/reconciler/evict"
)

// counts keeps the calls of Counts.
type counts struct {
	mu     sync.Mutex
	taken  []string
	worked []string
	limits []evict.Limit

	changed []string // what had made room for a pod whose record has changed
	did     []string // actions
	resized []bool   // whether they were made

	relisted, heard, unheard int
}

var _ reconciler.Counts = (*counts)(nil)

func (c *counts) Taken(pod *node.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = append(c.taken, pod.Object.Name)
}

func (c *counts) Changed(_, _ *node.Pod, freed string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = append(c.changed, freed)
}

func (c *counts) Did(_ *node.Pod, _ *node.Observed, a node.Action, _ time.Duration, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.did = append(c.did, node.KindOf(a))
}

func (c *counts) Resized(_ time.Duration, made bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resized = append(c.resized, made)
}

func (c *counts) Worked(operation string, _ time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.worked = append(c.worked, operation)
}

func (c *counts) Relisted(time.Time, time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.relisted++
}

func (c *counts) Listened(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.heard++
	} else {
		c.unheard++
	}
}

func (c *counts) evict(over evict.Limit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limits = append(c.limits, over)
}

// over are the limits for which pods were evicted.
func (c *counts) over() []evict.Limit {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.limits)
}

// told returns the new pods and the operations on pods, each once.
func (c *counts) told() (taken, worked []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.taken), slices.Compact(slices.Clone(c.worked))
}

func TestWorkOnPodsIsCounted(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.rest(time.Second)
		b.apply(pod("web", "run"))
		b.rest(time.Minute)
		taken, worked := b.counts.told()
		if !slices.Equal(taken, []string{"web"}) || len(worked) == 0 || worked[0] != "create" || slices.Contains(worked, "kill") {
			t.Errorf("got %q and %q, want one pod, that was created first and not ended", taken, worked)
		}
		again := pod("web", "run")
		again.Labels = map[string]string{"a": "b"}
		b.apply(again)
		b.delete("web", time.Second)
		b.rest(time.Minute)
		taken, worked = b.counts.told()
		if !slices.Equal(taken, []string{"web"}) || worked[len(worked)-1] != "kill" {
			t.Errorf("got %q and %q, want no other pod, and that it was ended", taken, worked)
		}
	})
}
