package action

import (
	"errors"
	"net/netip"

	"nodal/node"
)

func sandboxIsReady(p *pod) {
	id := p.sandbox()
	got := p.look().Sandboxes
	if len(got) != 1 || got[0].ID != id || got[0].UID != p.UID() || got[0].Attempt != 0 || got[0].State != node.SandboxReady ||
		got[0].CreatedAt.IsZero() {
		p.Errorf("a look shows %+v, want sandbox %s, ready", got, id)
	}
	seen := p.do(node.InspectSandbox{ID: id}).Sandbox
	if seen == nil || seen.ID != id || seen.UID != p.UID() || !seen.Inspected || len(seen.IPs) == 0 {
		p.Fatalf("an inspection shows %+v, want sandbox %s with an address", seen, id)
	}
	if _, err := netip.ParseAddr(seen.IPs[0]); err != nil {
		p.Errorf("address: %v", err)
	}
}

func sandboxAttemptIsTaken(p *pod) {
	id := p.sandbox()
	p.wantOpen(node.RunSandbox{})
	if got := p.look().Sandboxes; len(got) != 1 {
		p.Errorf("a look shows %+v, want one sandbox", got)
	}
	p.do(node.RunSandbox{Attempt: 1})
	if got := p.look().Sandboxes; len(got) != 2 || got[0].Attempt != 1 {
		p.Errorf("a look shows %+v, want two sandboxes, the newest first", got)
	}
	p.do(node.StopSandbox{ID: id})
	p.wantOpen(node.RunSandbox{})
	p.do(node.RemoveSandbox{ID: id})
	p.do(node.RunSandbox{})
}

func sandboxStopKills(p *pod) {
	sandbox := p.sandbox()
	deaf := p.start(sandbox, "deaf")
	p.do(node.StopSandbox{ID: sandbox})
	p.wantEnd(deaf, 137)
	if got := p.look().Sandboxes; len(got) != 1 || got[0].State != node.SandboxNotReady {
		p.Errorf("a look shows %+v, want one sandbox that is not ready", got)
	}
}

func sandboxEndsTwice(p *pod) {
	id := p.sandbox()
	for _, a := range []node.Action{
		node.StopSandbox{ID: id}, node.StopSandbox{ID: id},
		node.RemoveSandbox{ID: id}, node.RemoveSandbox{ID: id}, node.StopSandbox{ID: id},
	} {
		p.do(a)
	}
	if got := p.look(); !got.Empty() {
		p.Errorf("a look shows %+v, want nothing", got)
	}
}

func sandboxRemovalTakesContainers(p *pod) {
	sandbox := p.sandbox()
	p.start(sandbox, "forever")
	p.create(sandbox, "fails")
	p.do(node.RemoveSandbox{ID: sandbox})
	if got := p.look(); !got.Empty() {
		p.Errorf("a look shows %+v, want nothing", got)
	}
	p.start(p.sandbox(), "forever") // all names are free again
}

func sandboxMissing(p *pod) {
	if _, err := p.try(node.InspectSandbox{ID: missing}); !errors.Is(err, node.ErrNotFound) {
		p.Errorf("got %v, want %v", err, node.ErrNotFound)
	}
}
