package action

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

func nothingIsShown(p *pod) {
	if got := p.look(); !got.Empty() {
		p.Errorf("got %+v, want nothing", got)
	}
}

func everyPodIsShown(p *pod) {
	id := p.sandbox()
	other := newPod(p.T, p.Runtime, "another-pod")
	otherID := other.sandbox()
	all, err := p.List(p.live(), nil)
	if err != nil {
		p.Fatal(err)
	}
	for key, want := range map[node.Key]string{p.Key(): id, other.Key(): otherID} {
		if got := all[key]; got == nil || len(got.Sandboxes) != 1 || got.Sandboxes[0].ID != want {
			p.Errorf("under %s is %+v, want sandbox %s", key, got, want)
		}
	}
	key := p.Key()
	one, err := p.List(p.live(), &key)
	if err != nil || len(one) != 1 {
		p.Errorf("a look at one pod shows %d, %v", len(one), err)
	}
}

func uidsAreKept(p *pod) {
	p.start(p.sandbox(), "forever")
	heir := *p
	object := p.Object.DeepCopy()
	object.UID += "-again"
	heir.Pod = &node.Pod{Source: node.SourceAPI, Object: object}
	heir.start(heir.sandbox(), "forever")

	got := p.look()
	for _, uid := range []types.UID{p.UID(), heir.UID()} {
		if home := got.Home(uid); home == nil || home.UID != uid {
			p.Errorf("the sandbox of %s is %+v", uid, home)
		}
		if run := got.Newest(uid, "forever"); run == nil || run.UID != uid || run.State != node.ContainerRunning {
			p.Errorf("the run of %s is %+v", uid, run)
		}
	}
}

func foreignActions(p *pod) {
	if _, err := p.try(node.SetLost{}); !errors.Is(err, node.ErrUnsupported) {
		p.Errorf("got %v, want %v", err, node.ErrUnsupported)
	}
}
