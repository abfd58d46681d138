package reconciler_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
	"nodal/reconciler/evict"
)

// platter is a disk on which each pod has written as much to its volume.
type platter struct {
	mu     sync.Mutex
	used   map[string]int64 // by pod
	takes  time.Duration    // a look at one
	effort time.Duration    // of a look at one
	broken error
	looks  int
}

var _ evict.Disk = (*platter)(nil)

func (p *platter) Written(_ context.Context, pod *node.Pod, volumes []string, _ bool) (node.Written, error) {
	time.Sleep(p.takes)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looks++
	written := node.Written{Volumes: map[string]int64{}, Effort: p.effort}
	for _, name := range volumes {
		written.Volumes[name] = p.used[pod.Object.Name]
	}
	return written, p.broken
}

func (p *platter) write(pod string, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used[pod] = bytes
}

func (p *platter) counted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.looks
}

// withScratch is a pod that takes its time to end, with a volume that holds a megabyte.
func withScratch(name, limit string) *corev1.Pod {
	object := pod(name, "run")
	scratch := &corev1.EmptyDirVolumeSource{}
	if limit != "" {
		scratch.SizeLimit = new(resource.MustParse(limit))
	}
	object.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: scratch}}}
	object.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}
	return object
}

func (b *bench) evicts(disk evict.Disk) {
	e := evict.Evictor{
		Store: b.store, Disk: disk, Events: b.events, Log: slog.New(slog.DiscardHandler), Clock: time.Now,
		Evicted: func(over evict.Limit) { b.counts.evict(over) },
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		e.Run(ctx)
		close(ended)
	}()
	stop := b.stop
	b.stop = func() {
		cancel()
		<-ended
		stop()
	}
}

const mega = 1 << 20

func TestAPodThatWritesTooMuchEnds(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		disk := &platter{used: map[string]int64{}}
		b.evicts(disk)
		b.rest(time.Hour) // no pod to measure
		b.apply(withScratch("greedy", "1Mi"))
		b.apply(withScratch("modest", "1Mi"))
		b.apply(withScratch("free", ""))
		b.rest(5 * time.Second)
		disk.write("greedy", mega)
		disk.write("free", 100*mega)
		b.rest(5 * time.Second)
		b.wantState("greedy", "Running running restarts=0 ready=true")
		disk.write("greedy", mega+1)
		b.rest(5 * time.Second)

		s := b.status("greedy")
		if s.Phase != corev1.PodFailed || s.Reason != "Evicted" || s.Message != `Usage of EmptyDir volume "scratch" exceeds the limit "1Mi".` {
			t.Errorf("the pod is %s, %s: %q, want it evicted", s.Phase, s.Reason, s.Message)
		}
		if got := b.counts.over(); !slices.Equal(got, []evict.Limit{evict.LimitVolume}) {
			t.Errorf("counted were %q, want one volume", got)
		}
		b.wantState("modest", "Running running restarts=0 ready=true")
		b.wantState("free", "Running running restarts=0 ready=true")
		if got := b.reasons(func(e *node.Event) bool { return e.Key == key("greedy") && e.Warning }); got != "Evicted Exited" {
			t.Errorf("warnings are %q, want that it is evicted and has ended", got)
		}
	})
}

func TestMeasuringTakesItsShareOfTime(t *testing.T) {
	for _, c := range []struct {
		name   string
		limit  string
		takes  time.Duration
		effort time.Duration
		within time.Duration
		looks  int
	}{
		{"without limits nothing is measured", "", 0, 0, time.Hour, 0},
		{"what is quickly done is done often", "1Mi", 0, 0, 10*time.Second + 1, 10},
		{"what waits long is done less often", "1Mi", 2 * time.Second, 0, 60 * time.Second, 10},
		{"what takes much work even less", "1Mi", 100 * time.Millisecond, 100 * time.Millisecond, 21 * time.Second, 10},
		{"but for ever nobody goes unwatched", "1Mi", 10 * time.Second, 10 * time.Second, 701 * time.Second, 10},
		{"not beside a runtime that hardly answers either", "1Mi", time.Minute, 0, 1201 * time.Second, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, false, func(b *bench) {
				disk := &platter{used: map[string]int64{}, takes: c.takes, effort: c.effort}
				b.apply(withScratch("web", c.limit))
				b.evicts(disk)
				b.rest(c.within)
				if got := disk.counted(); got != c.looks && got != c.looks+1 {
					t.Errorf("it was measured %d times in %s, want %d", got, c.within, c.looks)
				}
			})
		})
	}
}

func TestMeasuredUseCountsBesideAnUnmeasuredPart(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(withScratch("greedy", "1Mi"))
		b.apply(withScratch("modest", "1Mi"))
		b.evicts(&platter{used: map[string]int64{"greedy": 2 * mega}, broken: errors.New("the runtime does not answer")})
		b.rest(5 * time.Second)
		b.wantState("modest", "Running running restarts=0 ready=true")
		if s := b.status("greedy"); s.Reason != "Evicted" {
			t.Errorf("the pod is %s, %s, want it evicted", s.Phase, s.Reason)
		}
	})
}

func TestMeasuringErrorsAreLoggedForEachPod(t *testing.T) {
	for _, c := range []struct {
		name    string
		writes  int64
		evicted bool
	}{
		{"one within its limits", 0, false},
		{"one that is over what was measured", 2 * mega, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, false, func(b *bench) {
				b.apply(withScratch("web", "1Mi"))
				b.rest(time.Second)
				var log bytes.Buffer
				e := evict.Evictor{
					Store: b.store, Events: b.events, Clock: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil)),
					Disk: &platter{used: map[string]int64{"web": c.writes}, broken: errors.New("the runtime does not answer")},
				}
				e.Round(b.Context())
				if !strings.Contains(log.String(), "pod=default/web") || !strings.Contains(log.String(), "the runtime does not answer") {
					t.Errorf("logged was %q, want the pod and what is wrong", log.String())
				}
				b.rest(5 * time.Second)
				if s := b.status("web"); (s.Reason == node.Evicted) != c.evicted {
					t.Errorf("the pod is %s, %s, want evicted: %v", s.Phase, s.Reason, c.evicted)
				}
			})
		})
	}
}

func TestAPodThatIsDeletedIsNotEvicted(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		disk := &platter{used: map[string]int64{}}
		b.evicts(disk)
		b.apply(withScratch("slow", "1Mi"))
		b.rest(2 * time.Second)
		b.delete("slow", time.Hour)
		disk.write("slow", 2*mega)
		b.rest(time.Minute)
		if got := b.reasons(func(e *node.Event) bool { return e.Reason == node.Evicted }); got != "" {
			t.Errorf("it was evicted too: %q", got)
		}
	})
}
