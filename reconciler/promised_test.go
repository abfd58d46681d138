package reconciler_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/assign"
	"nodal/node/intake"
	"nodal/node/offer"
	"nodal/node/store"
	"nodal/reconciler"
)

// change changes the record of a pod, as the server does for a request.
func (b *bench) change(name string, change func(*node.Pod)) {
	b.Helper()
	if _, err := b.store.Transact(func(tx *store.Tx) error {
		next := *tx.Get(key(name))
		object := *next.Pod
		next.Pod = &object
		change(next.Pod)
		tx.Put(key(name), &next)
		return nil
	}); err != nil {
		b.Fatal(err)
	}
}

func TestPodsThatWaitForResourcesAreRetriedAtTheStart(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(pod("web"))
		b.rest(time.Second)
		b.change("web", func(p *node.Pod) { p.Resize = &node.Resize{Reason: corev1.PodReasonDeferred} })
		b.rest(time.Hour)
		resize := func() *node.Resize {
			view, _ := b.store.View(key("web"))
			return view.Slot.Pod.Resize
		}
		if resize() == nil {
			t.Error("the resize was looked at again though nothing has changed")
		}
		b.stop()
		b.start()
		b.rest(time.Second)
		if got := resize(); got != nil {
			t.Errorf("after a start the resize is %+v, want that there is room for it", got)
		}
	})
}

func TestAPodThatWaitsForResourcesIsLookedAtWhenTheOfferChanges(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(pod("web"))
		b.rest(time.Second)
		b.change("web", func(p *node.Pod) { p.Resize = &node.Resize{Reason: corev1.PodReasonDeferred} })
		b.rest(time.Hour)
		b.offers.Post(offer.Offer{})
		b.rest(time.Second)
		if view, _ := b.store.View(key("web")); view.Slot.Pod.Resize != nil {
			t.Errorf("the resize is %+v, want that there is room for it", view.Slot.Pod.Resize)
		}
	})
}

func TestPodsGetTheNewSharedCPUsWhenOneGoesOffline(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		rules := &assign.Rules{Static: true, Reserved: cpuset.New(0), Topology: assign.Topology{{ID: 0}, {ID: 1, Core: 1}, {ID: 2, Core: 2}}}
		loop := reconciler.NewLoop(b.store, b.site)
		loop.Pool = assign.NewPool(rules)
		loop.Turn(time.Now())
		before := loop.Site.Shared
		fewer := *rules
		fewer.Topology = rules.Topology[:2]
		loop.Follow(offer.Offer{Assign: &fewer})
		loop.Turn(time.Now())
		if after := loop.Site.Shared; before != "0-2" || after != "0-1" {
			t.Errorf("pods share %q and then %q, want 0-2 and then 0-1", before, after)
		}
	})
}

// The end of a pod that was decided on while a client asked for its restart.
func TestARestartThatWasPromisedIsNotOverruled(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(pod("web"))
		b.rest(time.Second)
		view, _ := b.store.View(key("web"))
		end := node.SetResult{Status: &corev1.PodStatus{Phase: corev1.PodSucceeded}}
		act := reconciler.Act{Store: b.store}
		if err := b.intake.Restart(intake.RestartRequest{Key: key("web"), Container: "main"}); err != nil {
			t.Fatal(err)
		}
		if _, err := act.Do(t.Context(), key("web"), view.Slot.Pod, view.Got, end); err != nil {
			t.Fatal(err)
		}
		b.rest(time.Minute)
		b.wantState("web", "Running running restarts=1 ready=true")
	})
}
