package script

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/health"
	"nodal/reconciler/evict"
)

// newRelief returns the part of a started agent that evicts pods when the node runs short.
func (s *stage) newRelief() *evict.Relief {
	clock := func() time.Time { return s.now }
	return &evict.Relief{
		Store: s.store, Pressures: shortage{s}, Figures: plenty{}, Images: plenty{}, Scarce: func(on bool) { s.scarce = on },
		MaxGrace: func() time.Duration { return 0 }, Events: s.events, Log: slog.New(slog.DiscardHandler), Clock: clock,
	}
}

// usualLeast is the threshold of the node in a script.
const usualLeast = "10"

// lack runs a pass of the relief while the node lacks a signal, or none. The threshold may be given.
func (s *stage) lack(words []string) error {
	if len(words) == 2 {
		words = append(words, usualLeast)
	}
	if len(words) != 3 || words[1] != "nothing" && !slices.Contains(health.SignalNames(), words[1]) {
		return errUsage
	}
	least, err := resource.ParseQuantity(words[2])
	if err != nil {
		return errUsage
	}
	s.lacks, s.least = words[1], least
	step := s.relief.Pass(context.Background())
	if step.Do == evict.Reclaim {
		s.relief.Cleared()
	}
	s.say("pass: %s", step.Do)
	for _, b := range s.beyond {
		s.say("warning: %s", b)
	}
	return nil
}

// shortage is a node that has 1 left of 100 of one signal, and has to have more.
type shortage struct{ *stage }

func (s shortage) Measure(context.Context) health.Pressure {
	r := health.Record{}
	reading := health.Reading{At: s.now}
	if s.lacks != "nothing" {
		r.Rules = []health.Rule{{Signal: s.lacks, Least: health.Threshold{Quantity: s.least}}}
		reading.Signals = []health.Signal{{Name: s.lacks, Left: 1, Capacity: 100}}
	}
	r.Take(health.Facts{Reading: reading}, s.now)
	s.beyond = r.Pressure().Beyond
	return r.Pressure()
}

// plenty has each container use a gigabyte.
type plenty struct{}

var (
	_ evict.Figures = plenty{}
	_ evict.Images  = plenty{}
)

func (plenty) Reclaim(context.Context) error { return nil }

func (plenty) Memory(_ context.Context, pods []*node.Pod) (map[types.UID]node.PodUse, error) {
	found := map[types.UID]node.PodUse{}
	for _, pod := range pods {
		use := node.PodUse{Containers: map[string]int64{}}
		for c := range node.Containers(&pod.Object.Spec) {
			use.Containers[c.Name] = 1 << 30
			use.Total += 1 << 30
		}
		found[pod.UID()] = use
	}
	return found, nil
}

func (p plenty) Tasks(ctx context.Context, pods []*node.Pod) (map[types.UID]node.PodUse, error) {
	return p.Memory(ctx, pods)
}

func (p plenty) Disk(ctx context.Context, pods []*node.Pod, _ node.DiskParts, _ bool) (map[types.UID]node.PodUse, error) {
	return p.Memory(ctx, pods)
}
