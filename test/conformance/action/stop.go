package action

import (
	"time"

	"nodal/node"
)

func stopTerminates(p *pod) {
	id := p.start(p.sandbox(), "forever")
	p.until("heeds signals", id, func(c node.Container) bool { return p.Ready == nil || p.Ready(c) })
	begin := p.Now()
	p.do(node.StopContainer{Container: "forever", ID: id, Grace: patience})
	if took := p.Now().Sub(begin); took >= patience {
		p.Errorf("the stop took %s, want less than its grace period", took)
	}
	p.wantEnd(id, 143)
}

func stopKills(p *pod) {
	id := p.start(p.sandbox(), "deaf")
	begin := p.Now()
	p.do(node.StopContainer{Container: "deaf", ID: id})
	if took := p.Now().Sub(begin); took < 2*time.Second {
		p.Errorf("a stop without grace took %s, want 2s between TERM and KILL", took)
	}
	p.wantEnd(id, 137)
}

func stopOfEnded(p *pod) {
	sandbox := p.sandbox()
	id := p.start(sandbox, "fails")
	p.await(id)
	ended := p.inspect(id).FinishedAt
	p.do(node.StopContainer{Container: "fails", ID: id, Grace: grace})
	p.wantEnd(id, 1)
	if got := p.inspect(id).FinishedAt; !got.Equal(ended) {
		p.Errorf("it ended at %s, want %s as before", got, ended)
	}
	p.do(node.StopContainer{Container: "fails", ID: missing, Grace: grace})

	created := p.create(sandbox, "forever")
	p.do(node.StopContainer{Container: "forever", ID: created, Grace: grace})
	p.wantState(created, node.ContainerCreated)
}

func containerRemoval(p *pod) {
	sandbox := p.sandbox()
	id := p.start(sandbox, "deaf")
	for range 2 {
		p.do(node.RemoveContainer{Container: "deaf", ID: id, UID: p.UID()})
	}
	if _, there := p.shown(id); there {
		p.Error("it is still shown")
	}
	if got := p.look().Sandboxes; len(got) != 1 || got[0].State != node.SandboxReady {
		p.Errorf("a look shows %+v, want the sandbox as it was", got)
	}
}
