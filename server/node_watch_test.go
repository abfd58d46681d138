package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/admit"
	"nodal/node/health"
	"nodal/node/limit"
	"nodal/node/offer"
	"nodal/node/store"
	"nodal/reconciler"
	"nodal/server/wire"
)

// nodeReader is a client that takes one message when the test reads it.
type nodeReader struct {
	grpc.ServerStream
	ctx    context.Context
	sent   chan *nodev1.GetNodeResponse
	says   atomic.Pointer[runtimeWord] // the runtime's status
	left   atomic.Int64                // of the disk, of which 10 have to be
	key    *scriptedKey
	cordon *heldCordon
	told   keptConfiguration
	// rules sets the thresholds of the node.
	rules func([]health.Rule)
}

// keptConfiguration is a configuration that a test changes.
type keptConfiguration struct {
	mu sync.Mutex
	Configured
	node.Bell
}

func (k *keptConfiguration) Read() Configured {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.Configured
}

func (k *keptConfiguration) Changed() <-chan struct{} { return k.Heard() }

func (k *keptConfiguration) set(c Configured) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.Configured = c
	k.Ring()
}

type runtimeWord struct {
	node.RuntimeStatus
	err error
}

func (r *nodeReader) Context() context.Context { return r.ctx }

func (r *nodeReader) Send(m *nodev1.WatchNodeResponse) error {
	select {
	case r.sent <- m.GetNode():
		return nil
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}

// next returns the next message, or nil if none comes within the time.
func (r *nodeReader) next(within time.Duration) *nodev1.GetNodeResponse {
	select {
	case n := <-r.sent:
		return n
	case <-time.After(within):
		return nil
	}
}

// vitalsLook bounds how long a change without an event goes unseen.
const vitalsLook = 10 * time.Second

// watchNode runs the test beside a watch of the node, with a simulated clock.
func watchNode(t *testing.T, test func(t *testing.T, n *node1, r *nodeReader)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stopped, ended, key := make(chan struct{}), make(chan error), &scriptedKey{}
		held := &heldCordon{}
		service := nodeService{
			store: n.store, sources: n.sources, offers: &n.offers, site: node.Site{NodeName: "node1"}, stopped: stopped, key: key,
			subnets: noSubnets{}, shutdown: staysUp{}, cordon: held,
		}
		r := &nodeReader{ctx: ctx, key: key, cordon: held, sent: make(chan *nodev1.GetNodeResponse)}
		r.left.Store(11)
		vitals := reconciler.NewVitals(reconciler.VitalsConfig{
			Runtime: n.runtime, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Rules: []health.Rule{{Signal: "nodefs.available", Least: health.Threshold{Percent: 10}}},
			Signals: func(context.Context) health.Reading {
				return health.Reading{Signals: []health.Signal{{Name: "nodefs.available", Left: r.left.Load(), Capacity: 100}}}
			},
		})
		service.vitals, service.config = vitals, &r.told
		r.rules = func(rules []health.Rule) { vitals.SetRules(rules, 0) }
		r.says.Store(&runtimeWord{RuntimeStatus: node.RuntimeStatus{Ready: true, NetworkReady: true}})
		n.runtime.status = func(context.Context) (node.RuntimeStatus, error) {
			word := r.says.Load()
			return word.RuntimeStatus, word.err
		}
		go vitals.Run(ctx)
		go func() { ended <- service.WatchNode(nil, r) }()
		if first := r.next(time.Second); first.GetName() != "node1" || !first.GetRuntime().GetReady() {
			t.Fatalf("the watch begins with %v, want the node as it is", first)
		}
		test(t, n, r)
		close(stopped)
		if err := <-ended; !errors.Is(err, wire.ErrStopping) {
			t.Errorf("the watch ended with %v, want that the server stops", err)
		}
	})
}

func TestANodeWatchReportsAnotherOffer(t *testing.T) {
	watchNode(t, func(t *testing.T, n *node1, r *nodeReader) {
		cpus := func(count string) offer.Offer {
			list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(count)}
			return offer.Offer{Node: admit.Node{Capacity: list, Allocatable: list, Labels: map[string]string{"zone": "a"}, Swap: limit.Swap{Total: 7}}}
		}
		n.offers.Post(cpus("4"))
		told := r.next(time.Second)
		if told.GetCapacity()["cpu"] != "4" || told.GetAllocatable()["cpu"] != "4" || told.GetLabels()["zone"] != "a" || told.GetSwapBytes() != 7 {
			t.Errorf("told %v, want what the node offers now", told)
		}
		n.offers.Post(cpus("4"))
		if told := r.next(time.Minute); told != nil {
			t.Errorf("the same offer again: told %v, want nothing", told)
		}
		n.offers.Post(cpus("3"))
		if told := r.next(time.Second); told.GetCapacity()["cpu"] != "3" {
			t.Errorf("a CPU went offline: told %v, want 3", told.GetCapacity())
		}
	})
}

func TestANodeWatchReportsWarningsOfAnotherConfiguration(t *testing.T) {
	watchNode(t, func(t *testing.T, _ *node1, r *nodeReader) {
		c := Configured{Warnings: []Warning{{Setting: "hairpinMode", Problem: "has no effect"}}}
		r.told.set(c)
		if told := r.next(time.Second).GetWarnings(); len(told) != 1 || told[0].GetSetting() != "hairpinMode" {
			t.Errorf("told %v", told)
		}
		r.told.set(c)
		if told := r.next(time.Minute); told != nil {
			t.Errorf("the same once more: told %v, want nothing", told)
		}
	})
}

func TestANodeWatchReportsThatFilesWereReadAgain(t *testing.T) {
	watchNode(t, func(t *testing.T, _ *node1, r *nodeReader) {
		r.told.set(Configured{ReadAt: testNow, Fault: "no such field"})
		if told := r.next(time.Second).GetConfiguration(); told.GetFault() != "no such field" {
			t.Errorf("a broken file: told %v", told)
		}
		r.told.set(Configured{ReadAt: testNow.Add(time.Minute), Fault: "no such field"})
		if told := r.next(time.Second).GetConfiguration(); !told.GetReadAt().AsTime().Equal(testNow.Add(time.Minute)) {
			t.Errorf("read again: told %v", told)
		}
	})
}

func TestANodeWatchReportsChangesOnly(t *testing.T) {
	watchNode(t, func(t *testing.T, n *node1, r *nodeReader) {
		n.sources.Failed(node.SourceFile, store.SourceError{Origin: "/etc/pods", Message: "gone", Time: testNow})
		if told := r.next(time.Second); len(told.GetSources()[0].GetErrors()) != 1 {
			t.Errorf("a source failed: told %v", told)
		}
		n.sources.Failed(node.SourceFile, store.SourceError{Origin: "/etc/pods", Message: "gone", Time: testNow.Add(time.Minute)})
		n.events.Add(node.Event{Reason: "Unrelated", Time: testNow})
		if told := r.next(time.Minute); told != nil {
			t.Errorf("the same error later, and an event: told %v, want nothing", told)
		}
		n.sources.Delivered(node.SourceFile, testNow, nil)
		if told := r.next(time.Second); len(told.GetSources()[0].GetErrors()) != 0 || !told.GetSources()[0].GetReady() {
			t.Errorf("the source is well: told %v", told)
		}
		n.sources.Delivered(node.SourceFile, testNow.Add(time.Minute), nil)
		if told := r.next(time.Minute); told != nil {
			t.Errorf("the same once more: told %v, want nothing", told)
		}
		n.apply(t, manifestOf("web"))
		if told := r.next(time.Second); told.GetPods().GetTotal() != 1 {
			t.Errorf("a pod came: told %v", told)
		}
	})
}

func TestANodeWatchReportsTheRuntime(t *testing.T) {
	watchNode(t, func(t *testing.T, n *node1, r *nodeReader) {
		r.says.Store(&runtimeWord{err: errors.New("nobody there")})
		n.runtime.turned.Ring()
		if told := r.next(time.Second).GetRuntime(); told.GetReady() || told.GetMessage() != "nobody there" {
			t.Errorf("the runtime is gone: told %v", told)
		}
		r.says.Store(&runtimeWord{RuntimeStatus: node.RuntimeStatus{Ready: true}})
		n.runtime.turned.Ring()
		if told := r.next(time.Second).GetRuntime(); !told.GetReady() || told.GetNetworkReady() {
			t.Errorf("the runtime is back without network: told %v", told)
		}
		r.says.Store(&runtimeWord{RuntimeStatus: node.RuntimeStatus{Ready: true, NetworkReady: true}}) // without an event of the runtime
		if told := r.next(vitalsLook + time.Second).GetRuntime(); !told.GetNetworkReady() {
			t.Errorf("the network is there: told %v", told)
		}
	})
}

// conditions returns the node's conditions, in short.
func conditions(n *nodev1.GetNodeResponse) string {
	var text []string
	for _, c := range n.GetConditions() {
		text = append(text, c.GetType()+"="+c.GetStatus())
	}
	return strings.Join(text, " ")
}

func TestANodeWatchReportsConditions(t *testing.T) {
	watchNode(t, func(t *testing.T, n *node1, r *nodeReader) {
		began := time.Now()
		r.left.Store(9) // without an event
		told := r.next(vitalsLook + time.Second)
		if got, want := conditions(told), "MemoryPressure=Unknown DiskPressure=True PIDPressure=Unknown Ready=True"; got != want {
			t.Errorf("the disk is full: told %s, want %s", got, want)
		}
		r.left.Store(10)
		told = r.next(vitalsLook + time.Second)
		if got, want := conditions(told), "MemoryPressure=Unknown DiskPressure=False PIDPressure=Unknown Ready=True"; got != want {
			t.Errorf("the disk is no longer full: told %s, want %s", got, want)
		}
		time.Sleep(time.Hour)
		r.says.Store(&runtimeWord{err: errors.New("nobody there")})
		n.runtime.turned.Ring()
		told = r.next(time.Second)
		ready := told.GetConditions()[3]
		if ready.GetStatus() != "False" || ready.GetReason() != "KubeletNotReady" || ready.GetMessage() != "container runtime is down: nobody there" {
			t.Errorf("the runtime is gone: told %v", ready)
		}
		if since := ready.GetTransitionedAt().AsTime().Sub(began); since < time.Hour || since > time.Hour+time.Minute {
			t.Errorf("the runtime is gone: told that this is so since %s after the beginning, want an hour", since)
		}
		if disk := told.GetConditions()[1].GetTransitionedAt().AsTime().Sub(began); disk > time.Minute {
			t.Errorf("the disk is told to be well since %s after the beginning, want half a minute", disk)
		}
	})
}

func TestTheNodeWarnsOfAThresholdThatItCannotMeet(t *testing.T) {
	watchNode(t, func(t *testing.T, _ *node1, r *nodeReader) {
		r.rules([]health.Rule{{Signal: "nodefs.available", Least: health.Threshold{Quantity: resource.MustParse("1000")}}})
		told := r.next(time.Second)
		const want = "evictionHard[nodefs.available] has no effect: 1k would have to be left, and the node has 100; lower it"
		if all := told.GetWarnings(); len(all) != 1 || all[0].GetSetting()+" "+all[0].GetMessage()+"; "+all[0].GetRemedy() != want {
			t.Errorf("told %v, want %q", all, want)
		}
		if got := conditions(told); !strings.Contains(got, "DiskPressure=False") {
			t.Errorf("told %s, want no pressure", got)
		}
		r.rules(nil)
		if told := r.next(time.Second); len(told.GetWarnings()) != 0 {
			t.Errorf("told %v, want no warning", told.GetWarnings())
		}
	})
}

func TestASlowReaderOfTheNodeMissesAllButTheLatest(t *testing.T) {
	watchNode(t, func(t *testing.T, n *node1, r *nodeReader) {
		for _, name := range []string{"a", "b", "c", "d"} {
			n.apply(t, manifestOf(name))
			time.Sleep(time.Second)
		}
		if told := r.next(time.Second); told.GetPods().GetTotal() != 1 {
			t.Errorf("told %d pods, want the one that came before the reader was busy", told.GetPods().GetTotal())
		}
		if told := r.next(time.Second); told.GetPods().GetTotal() != 4 {
			t.Errorf("told %d pods, want all", told.GetPods().GetTotal())
		}
		if told := r.next(time.Minute); told != nil {
			t.Errorf("told %v besides", told)
		}
	})
}

func TestAFastChangingNodeIsSentTenTimesASecond(t *testing.T) {
	watchNode(t, func(t *testing.T, n *node1, r *nodeReader) {
		for range 5 {
			time.Sleep(nodeWatchPause)
			n.apply(t, manifestOf("now"))
			n.apply(t, manifestOf("then"))
			told := r.next(nodeWatchPause)
			if told.GetPods().GetTotal() == 0 {
				t.Fatalf("told %v, want pods", told)
			}
			n.forget(t, "now")
			n.forget(t, "then")
			if told := r.next(nodeWatchPause / 2); told != nil {
				t.Fatalf("told %v at once", told)
			}
			if told := r.next(nodeWatchPause); told.GetPods().GetTotal() != 0 {
				t.Fatalf("told %v, want no pods", told)
			}
		}
	})
}
