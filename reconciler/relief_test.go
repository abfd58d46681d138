package reconciler_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/health"
	"nodal/node/store"
	"nodal/reconciler/evict"
	sim "nodal/sim/cri"
)

// scarceNode has 1000 of everything, of which 100 have to be left. Pods use what a test says while they run.
type scarceNode struct {
	store *store.Store
	mu    sync.Mutex
	uses  map[string]int64 // by pod
	junk  int64            // disk that unused images take
	logs  keptLogs
	wakes chan struct{}
	took  []string // signals of evictions
	disk  health.Record
}

var (
	_ evict.Pressures = (*scarceNode)(nil)
	_ evict.Figures   = (*scarceNode)(nil)
	_ evict.Images    = (*scarceNode)(nil)
)

func (s *scarceNode) use(pod string, amount int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses[pod] = amount
}

// waste has unused images take some of the disk.
func (s *scarceNode) waste(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.junk = bytes
}

func (s *scarceNode) left() int64 {
	views, _ := s.store.Views()
	left := 1000 - s.junk - s.logs.size()
	for _, v := range views {
		if v.Got != nil && v.Got.Runs(v.Slot.Pod.UID()) {
			left -= s.uses[v.Key.Name]
		}
	}
	return left
}

func (s *scarceNode) Measure(context.Context) health.Pressure {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disk.Take(health.Facts{Reading: health.Reading{
		At: time.Now(), Signals: []health.Signal{{Name: s.disk.Rules[0].Signal, Left: s.left(), Capacity: 1000}},
	}}, time.Now())
	return s.disk.Pressure()
}

func (s *scarceNode) Memory(_ context.Context, pods []*node.Pod) (map[types.UID]node.PodUse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[types.UID]node.PodUse{}
	for _, pod := range pods {
		found[pod.UID()] = node.PodUse{Total: s.uses[pod.Object.Name]}
	}
	return found, nil
}

func (s *scarceNode) Tasks(ctx context.Context, pods []*node.Pod) (map[types.UID]node.PodUse, error) {
	return s.Memory(ctx, pods)
}

func (s *scarceNode) Disk(ctx context.Context, pods []*node.Pod, _ node.DiskParts, _ bool) (map[types.UID]node.PodUse, error) {
	return s.Memory(ctx, pods)
}

func (s *scarceNode) Reclaim(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.junk = 0
	return nil
}

// keptLogs are the bytes of logs that are kept of deleted pods.
type keptLogs struct {
	mu    sync.Mutex
	bytes int64
}

var _ evict.Logs = (*keptLogs)(nil)

func (k *keptLogs) size() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bytes
}

func (k *keptLogs) Reclaim() (freed int64, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	freed, k.bytes = k.bytes, 0
	return freed, nil
}

// relieves runs a relief on a node that may lack one signal.
func (b *bench) relieves(rule health.Rule) *scarceNode {
	rule.Least = health.Threshold{Quantity: resource.MustParse("100")}
	s := &scarceNode{
		store: b.store, uses: map[string]int64{}, wakes: make(chan struct{}, 1), disk: health.Record{Rules: []health.Rule{rule}},
	}
	r := &evict.Relief{
		Store: b.store, Pressures: s, Figures: s, Images: s, Logs: &s.logs, Scarce: b.scarce, MaxGrace: func() time.Duration { return time.Minute }, Events: b.events,
		Log: slog.New(slog.DiscardHandler), Clock: time.Now, Wakes: s.wakes,
		Evicted: func(signal string, age time.Duration) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.took = append(s.took, signal)
			if age < 0 || age > time.Second {
				b.Errorf("the figures were %s old", age)
			}
		},
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		r.Run(ctx)
		close(ended)
	}()
	stop := b.stop
	b.stop = func() {
		cancel()
		<-ended
		stop()
	}
	return s
}

// wantEvicted expects which of the pods were evicted.
func (b *bench) wantEvicted(when string, want map[string]bool) {
	b.Helper()
	for name, gone := range want {
		if s := b.status(name); (s.Phase == corev1.PodFailed && s.Reason == node.Evicted) != gone {
			b.Errorf("%s: pod %s is %s %s, want evicted: %t", when, name, s.Phase, s.Reason, gone)
		}
	}
}

func TestANodeShortOfMemoryEvictsOnePodAtATime(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		s := b.relieves(health.Rule{Signal: health.MemoryAvailable})
		for _, name := range []string{"large", "small", "last"} {
			b.apply(pod(name, "run"))
		}
		b.rest(5 * time.Second)
		s.use("large", 500)
		s.use("small", 300)
		s.use("last", 100) // exactly what may be used
		b.rest(time.Minute)
		b.wantEvicted("as much as has to be is left", map[string]bool{"large": false, "small": false, "last": false})
		s.use("last", 101)
		s.wakes <- struct{}{} // the kernel has noticed
		b.rest(100 * time.Millisecond)
		b.wantEvicted("with the kernel's notice", map[string]bool{"large": true, "small": false, "last": false})
		b.rest(time.Hour)
		b.wantEvicted("after the first is gone there is enough", map[string]bool{"small": false, "last": false})
		if got := b.status("large"); got.Conditions[len(got.Conditions)-1].Type != corev1.DisruptionTarget {
			t.Errorf("got conditions %+v, want the target of a disruption", got.Conditions)
		}
		if got := b.reasons(func(e *node.Event) bool { return e.Reason == "EvictionThresholdMet" && e.Key == node.Key{} }); got == "" {
			t.Error("the node does not report it")
		}
		if s.mu.Lock(); len(s.took) != 1 || s.took[0] != health.MemoryAvailable {
			t.Errorf("counted were %v, want one for memory", s.took)
		}
		s.mu.Unlock()
	})
}

func TestASoftThresholdWaitsForItsGraceAndLeavesThePodsOwn(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		s := b.relieves(health.Rule{Signal: health.MemoryAvailable, Grace: 2 * time.Minute})
		object := pod("deaf", "run", "ignore-term")
		object.Spec.TerminationGracePeriodSeconds = new(int64(600))
		b.apply(object)
		b.rest(5 * time.Second)
		s.use("deaf", 950)
		b.rest(2 * time.Minute)
		if got := b.effects(sim.ContainerSignaled); got != 0 {
			t.Errorf("it is asked to end %d times before the grace is over", got)
		}
		b.rest(time.Minute)
		b.wantEvicted("it has a minute to end", map[string]bool{"deaf": false})
		b.rest(30 * time.Second)
		b.wantEvicted("then it was killed", map[string]bool{"deaf": true})
	})
}

func TestAShortageThatNoPodCanEndIsReportedOnce(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		s := b.relieves(health.Rule{Signal: health.MemoryAvailable})
		s.waste(950)
		b.rest(time.Minute)
		all, _, err := b.events.Since(0, func(e *node.Event) bool { return e.Reason == "EvictionThresholdMet" })
		if err != nil || len(all) != 1 || all[0].Count != 1 {
			t.Errorf("got %+v, %v, want one event", all, err)
		}
	})
}

func TestADiskIsClearedBeforeAPodIsEvicted(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		s := b.relieves(health.Rule{Signal: health.NodeFsAvailable})
		s.waste(300)
		done := pod("done", "exit", "0")
		done.Spec.RestartPolicy = corev1.RestartPolicyNever
		b.apply(done)
		b.apply(pod("large", "run"))
		b.apply(pod("small", "run"))
		b.rest(5 * time.Second)
		if n := len(b.server.Snapshot().Containers); n != 3 {
			t.Fatalf("%d containers are there, want three", n)
		}
		s.use("large", 500)
		s.use("small", 150)
		b.rest(time.Minute)
		b.wantEvicted("the images were enough", map[string]bool{"large": false, "small": false})
		if n := len(b.server.Snapshot().Containers); n != 2 {
			t.Errorf("%d containers are left, want none of the pod that has finished", n)
		}
		if got := b.status("done"); got.Phase != corev1.PodSucceeded {
			t.Errorf("that pod is %s, want it to have succeeded", got.Phase)
		}
		s.use("small", 420)
		b.rest(time.Minute)
		b.wantEvicted("they are gone", map[string]bool{"large": true, "small": false})
		if n := len(b.server.Snapshot().Containers); n != 1 {
			t.Errorf("%d containers are left, want none of the evicted pod", n)
		}
	})
}

func TestLogsOfDeletedPodsGoBeforeImages(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		s := b.relieves(health.Rule{Signal: health.NodeFsAvailable})
		b.apply(pod("web", "run"))
		b.rest(5 * time.Second)
		s.mu.Lock()
		s.junk, s.logs.bytes, s.uses["web"] = 300, 300, 400
		s.mu.Unlock()
		b.rest(time.Minute)
		s.mu.Lock()
		if logs := s.logs.size(); logs != 0 || s.junk != 300 {
			t.Errorf("%d bytes of logs and %d of images are left, want no logs, which were enough, and all images", logs, s.junk)
		}
		s.logs.bytes = 10 // too little, from now on
		s.mu.Unlock()
		s.use("web", 650)
		b.rest(5 * time.Minute)
		s.mu.Lock()
		if logs := s.logs.size(); logs != 0 || s.junk != 0 {
			t.Errorf("%d bytes of logs and %d of images are left, want neither", logs, s.junk)
		}
		s.mu.Unlock()
		b.wantEvicted("both were enough", map[string]bool{"web": false})
	})
}
