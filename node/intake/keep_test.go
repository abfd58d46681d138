package intake

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

func TestAPodThatRunsKeepsItsCPUs(t *testing.T) {
	b := sharing(t)
	b.in.Before = map[types.UID]node.Held{
		"ran": {Shares: node.Shares{"app": {CPUs: "3"}}, Grants: node.Grants{"app": {Env: map[string]string{"A": "1"}}}},
	}
	b.apply(pod("ended", "a:1", owns("3"))) // under another kubelet, as the cluster has yet to say
	b.in.Store.Saw(store.Running{web: {"ran": b.now}})
	running := pod("web", "a:1", owns("1"))
	running.UID = "ran"
	b.apply(running)
	if got := b.shares("web"); got != "3" {
		t.Errorf("the pod that runs has %q", got)
	}
	if view, _ := b.in.Store.View(web); view.Slot.Pod.Grants["app"].Env["A"] != "1" {
		t.Errorf("its grants are %v", view.Slot.Pod.Grants)
	}
}

func TestNoPodGetsTheCPUsOfOneThatIsYetToCome(t *testing.T) {
	b := sharing(t)
	b.in.Before = map[types.UID]node.Held{"ran": {Shares: node.Shares{"app": {CPUs: "3"}}}, "gone": {Shares: node.Shares{"app": {CPUs: "1"}}}}
	b.saw("ran")
	b.apply(pod("early", "a:1", owns("1")))
	b.apply(pod("more", "a:1", owns("1")))
	b.apply(pod("late", "a:1", owns("1")))
	for name, want := range map[string]string{"early": "1", "more": "2", "late": ""} {
		if got := b.shares(name); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
	b.apply(pod("vital", "a:1", critical, owns("1")))
	if got := b.shares("vital"); got == "3" {
		t.Error("a critical pod has the processor of a pod that runs")
	}
	unknown := pod("unknown", "a:1", owns("1")) // it runs, and no word of it is left
	unknown.UID = "other"
	b.in.Store.Saw(store.Running{web: {"ran": b.now}, node.KeyOf(unknown): {"other": b.now}})
	b.apply(unknown)
	if got := b.shares("unknown"); got == "3" {
		t.Error("a pod that runs has the processor of another one that runs")
	}
}
