package sim

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/health"
	"nodal/node/store"
	"nodal/reconciler/evict"
)

// The bugs of an agent that evicts pods.
const (
	WrongPod  Bug = "evicting the pod that uses the least"
	TwoAtOnce Bug = "evicting a pod while the one before it still ends"
)

const (
	machineHas  = 1000 // of memory and of disk
	machineKeep = 100  // below which pods are evicted
	mouthful    = 10   // that each container uses in any case
	unusedTake  = 300  // of the disk, by images that nothing uses
)

// scarcity counts what pods take of the machine's memory and disk. It has a random source of its own.
type scarcity struct {
	*world
	rand   *rand.Rand
	on     bool                // pods take more and more in this run
	hungry map[types.UID]int64 // memory that a pod takes while it runs
	wrote  map[types.UID]int64 // disk that a pod takes while something of it is there
	unused int64               // disk that unused images take
	doomed map[types.UID]bool  // pods that an agent may have evicted
}

func newScarcity(w *world, o Options) *scarcity {
	r := rand.New(rand.NewPCG(o.Seed, 5))
	return &scarcity{
		world: w, rand: r, on: r.IntN(3) == 0, unused: unusedTake,
		hungry: map[types.UID]int64{}, wrote: map[types.UID]int64{}, doomed: map[types.UID]bool{},
	}
}

// strive has a random pod take more now and then, until the time for faults is over.
func (s *scarcity) strive() {
	pause := time.Duration(s.rand.ExpFloat64() * float64(12*time.Second))
	s.after(pause, func() {
		if s.now < strife && s.on {
			s.feed()
			s.strive()
		}
	})
}

func (s *scarcity) feed() {
	var running []types.UID
	for _, c := range s.containers {
		if c.running() && !slices.Contains(running, c.uid) {
			running = append(running, c.uid)
		}
	}
	if len(running) == 0 {
		return
	}
	uid, more := running[s.rand.IntN(len(running))], int64(100+s.rand.IntN(700))
	if s.rand.IntN(2) == 0 {
		s.hungry[uid] += more
		s.trace.addf("world: uid %s uses %d more memory", uid, more)
	} else {
		s.wrote[uid] += more
		s.trace.addf("world: uid %s writes %d more", uid, more)
	}
}

// calm ends all shortages.
func (s *scarcity) calm() {
	s.on = false
	clear(s.hungry)
	clear(s.wrote)
}

// takes returns what a pod takes of a signal's resource.
func (s *scarcity) takes(signal string, uid types.UID) (sum int64) {
	if health.OfDisk(signal) {
		left := s.world.volumes[uid] != nil || slices.ContainsFunc(s.containers, func(c *container) bool { return c.uid == uid })
		if left {
			return s.wrote[uid]
		}
		return 0
	}
	for _, c := range s.containers {
		if c.uid == uid && c.running() {
			sum += mouthful
		}
	}
	if sum > 0 {
		sum += s.hungry[uid]
	}
	return sum
}

// left returns what all pods leave of a signal's resource.
func (s *scarcity) left(signal string) int64 {
	left, seen := int64(machineHas), map[types.UID]bool{}
	if health.OfDisk(signal) {
		left -= s.unused
	}
	for _, c := range s.containers {
		if !seen[c.uid] {
			seen[c.uid] = true
			left -= s.takes(signal, c.uid)
		}
	}
	return max(0, left)
}

// scale has an agent measure the machine. It dies with the agent.
type scale struct {
	*scarcity
	record health.Record
	bug    Bug
}

var (
	_ evict.Pressures = (*scale)(nil)
	_ evict.Figures   = (*scale)(nil)
	_ evict.Images    = (*scale)(nil)
)

func (s *scarcity) scale(bug Bug) *scale {
	least := health.Threshold{Quantity: *resource.NewQuantity(machineKeep, resource.DecimalSI)}
	return &scale{s, health.Record{Rules: []health.Rule{
		{Signal: health.MemoryAvailable, Least: least}, {Signal: health.NodeFsAvailable, Least: least},
	}}, bug}
}

func (s *scale) Measure(context.Context) health.Pressure {
	s.record.Take(health.Facts{Reading: health.Reading{At: s.clock(), Signals: []health.Signal{
		{Name: health.MemoryAvailable, Left: s.left(health.MemoryAvailable), Capacity: machineHas},
		{Name: health.NodeFsAvailable, Left: s.left(health.NodeFsAvailable), Capacity: machineHas},
	}}}, s.clock())
	return s.record.Pressure()
}

// Reclaim removes the images that nothing uses. The bug WrongPod is planted in the figures of pods.
func (s *scale) Reclaim(context.Context) error {
	s.trace.addf("agent: removes unused images")
	s.met.addf("pressure: unused images are removed")
	s.unused = 0
	return nil
}

func (s *scale) use(signal string, pods []*node.Pod) (map[types.UID]node.PodUse, error) {
	found := map[types.UID]node.PodUse{}
	for _, pod := range pods {
		total := s.takes(signal, pod.UID())
		if s.bug == WrongPod && total > 0 {
			total = 10*machineHas - total
		}
		found[pod.UID()] = node.PodUse{Total: total}
	}
	return found, nil
}

func (s *scale) Memory(_ context.Context, pods []*node.Pod) (map[types.UID]node.PodUse, error) {
	return s.use(health.MemoryAvailable, pods)
}

func (s *scale) Tasks(context.Context, []*node.Pod) (map[types.UID]node.PodUse, error) {
	return nil, nil
}

func (s *scale) Disk(_ context.Context, pods []*node.Pod, _ node.DiskParts, _ bool) (map[types.UID]node.PodUse, error) {
	return s.use(health.NodeFsAvailable, pods)
}

// newRelief returns the part of an agent that evicts pods. One bug is planted in its clock: its patience ends at once.
func (a *agent) newRelief(events *store.Events) *evict.Relief {
	measured := a.world.scarcity.scale(a.bug)
	clock := a.world.clock
	if a.bug == TwoAtOnce {
		ahead := time.Duration(0)
		clock = func() time.Time {
			ahead += time.Minute
			return a.world.clock().Add(ahead)
		}
	}
	return &evict.Relief{
		Store: a.store, Pressures: measured, Figures: measured, Images: measured, Scarce: a.loop.SetScarce,
		MaxGrace: func() time.Duration { return 0 }, Events: events, Log: slog.New(slog.DiscardHandler), Clock: clock,
	}
}

// relieve answers the shortages of the machine, again and again.
func (a *agent) relieve() {
	if a.dead {
		return
	}
	s := a.world.scarcity
	before := s.expect(a)
	step := a.relief.Pass(context.Background())
	s.judge(a, before)
	if step.Do == evict.Reclaim {
		a.world.after(a.faults.pause(s.rand), func() {
			if !a.dead {
				_ = a.relief.Images.Reclaim(context.Background())
				a.relief.Cleared()
			}
		})
	}
	a.turn()
	a.world.after(time.Second, a.relieve)
}

// pause returns the time that the removal of images takes.
func (*faults) pause(r *rand.Rand) time.Duration {
	return time.Duration(r.IntN(3000)) * time.Millisecond
}

// expectation holds what the world knows before a pass of an agent.
type expectation struct {
	first  map[string]types.UID // by signal: the pod that has to go first; none if nothing is short
	ending bool                 // a pod that was evicted runs still
	known  map[types.UID]bool   // pods that have a termination
}

// expect works out by the world's own figures which pods may go now.
func (s *scarcity) expect(a *agent) expectation {
	e := expectation{first: map[string]types.UID{}, known: map[types.UID]bool{}}
	views, _ := a.store.Views()
	for _, v := range views {
		if t := v.Slot.Termination; t != nil {
			e.known[v.Slot.Pod.UID()] = true
			young := s.clock().Sub(t.Requested) < 30*time.Second
			e.ending = e.ending || t.Signal != "" && young && v.Slot.Result == nil
		}
	}
	for _, signal := range []string{health.MemoryAvailable, health.NodeFsAvailable} {
		if s.left(signal) < machineKeep {
			e.first[signal] = s.foremost(signal, views)
			s.doomed[e.first[signal]] = true
		}
	}
	return e
}

// foremost returns the pod that exceeds its requests by most.
func (s *scarcity) foremost(signal string, views []store.View) (uid types.UID) {
	most, over := int64(0), false
	for _, v := range views {
		pod, takes := v.Slot.Pod, s.takes(signal, v.Slot.Pod.UID())
		if v.Slot.Closed() || pod.Deletion != nil || admit.Critical(pod) || pod.Source == node.SourceRuntime || takes == 0 {
			continue
		}
		more := takes
		for c := range specs(pod.Allocated()) {
			request := c.Resources.Requests.Memory()
			if health.OfDisk(signal) {
				request = c.Resources.Requests.StorageEphemeral()
			}
			more -= request.Value()
		}
		if uid == "" || more > 0 && !over || (more > 0) == over && more > most {
			uid, most, over = pod.UID(), more, more > 0
		}
	}
	return uid
}

// judge checks what a pass has done: it has evicted one pod at most, that one is the first for what the machine lacks,
// and none that was evicted before ends still.
func (s *scarcity) judge(a *agent, e expectation) {
	evicted := 0
	views, _ := a.store.Views()
	for _, v := range views {
		t, uid := v.Slot.Termination, v.Slot.Pod.UID()
		if t == nil || t.Signal == "" || e.known[uid] {
			continue
		}
		evicted++
		s.trace.addf("agent: evicts %s for %s", v.Key, t.Signal)
		s.met.addf("pressure: evicted for %s", t.Signal)
		first, short := e.first[t.Signal]
		switch {
		case !short:
			s.witness.failf("pod %s is evicted for %s, of which the machine has enough", v.Key, t.Signal)
		case first != uid && s.takes(t.Signal, first) != s.takes(t.Signal, uid):
			s.witness.failf("pod %s is evicted for %s, and uid %s exceeds its requests by more", v.Key, t.Signal, first)
		case health.OfDisk(t.Signal) && s.unused > 0:
			s.witness.failf("pod %s is evicted, and unused images take %d of the disk", v.Key, s.unused)
		case e.ending && !s.witness.jumps:
			s.witness.failf("pod %s is evicted while another one that was evicted still ends", v.Key)
		}
		s.doomed[uid] = true
	}
	if evicted > 1 {
		s.witness.failf("%d pods are evicted in one pass", evicted)
	}
}
