package action

import (
	"context"
	"errors"
	"time"

	"nodal/node"
	"nodal/node/manifest"
)

// live returns a context without cancellation: cleaning up goes on after the case's own context has
// ended.
func (p *pod) live() context.Context { return context.WithoutCancel(p.Context()) }

func containerLives(p *pod) {
	before := p.Now()
	id := p.create(p.sandbox(), "fails")
	p.wantState(id, node.ContainerCreated)
	if got := p.inspect(id); !got.StartedAt.IsZero() || !got.FinishedAt.IsZero() {
		p.Errorf("before its start it began at %s and ended at %s, want neither", got.StartedAt, got.FinishedAt)
	}
	p.do(node.StartContainer{Container: "fails", ID: id})
	p.await(id)
	p.wantEnd(id, 1)
	// The node's clock has parts of a second; so must the runtime's.
	if got := p.inspect(id); got.StartedAt.Before(before.Add(-time.Second)) || got.StartedAt.Before(got.CreatedAt) {
		p.Errorf("it was made at %s and began at %s, want them in this order and after %s", got.CreatedAt, got.StartedAt, before)
	}
	running := p.start(p.look().Sandboxes[0].ID, "forever")
	p.wantState(running, node.ContainerRunning)
	if got := p.inspect(running); got.StartedAt.IsZero() || !got.FinishedAt.IsZero() || got.State != node.ContainerRunning {
		p.Errorf("while it runs it began at %s and ended at %s", got.StartedAt, got.FinishedAt)
	}
}

func containerIsDescribed(p *pod) {
	sandbox := p.sandbox()
	id := p.create(sandbox, "forever")
	spec := p.spec("forever")
	look, _ := p.shown(id)
	seen := p.inspect(id)
	if seen.Image != spec.Image || look.Image != spec.Image && look.Image != look.ImageID {
		p.Errorf("the image is %q by an inspection and %q by a look, want %q, or its id by a look",
			seen.Image, look.Image, spec.Image)
	}
	for what, got := range map[string]node.Container{"a look": look, "an inspection": seen} {
		if got.ID != id || got.SandboxID != sandbox || got.UID != p.UID() || got.Name != "forever" || got.Attempt != 0 {
			p.Errorf("%s shows %+v, want container %s in sandbox %s", what, got, id, sandbox)
		}
		if !manifest.IsHashOf(got.Hash, spec) || got.ImageID == "" || got.CreatedAt.IsZero() {
			p.Errorf("%s shows hash %q, image id %q, made at %s; want the hash of the spec, an id and a time",
				what, got.Hash, got.ImageID, got.CreatedAt)
		}
		if got.Grace != grace || got.Hooked == nil || node.HookOf(got.Hooked, node.PreStop) == nil {
			p.Errorf("%s shows grace %s, hook %+v; want %s and the preStop hook", what, got.Grace, got.Hooked, grace)
		}
	}
	if look.Inspected || !seen.Inspected {
		p.Error("a look passes for an inspection, or the other way round")
	}
}

func containerAttemptIsTaken(p *pod) {
	sandbox := p.sandbox()
	id := p.create(sandbox, "forever")
	p.wantOpen(p.making(sandbox, "forever", 0))
	if got := p.look().Containers; len(got) != 1 {
		p.Errorf("a look shows %+v, want one container", got)
	}
	p.do(node.RemoveContainer{Container: "forever", ID: id, UID: p.UID()})
	p.create(sandbox, "forever")
}

func newestFirst(p *pod) {
	sandbox := p.sandbox()
	p.create(sandbox, "forever")
	p.create(sandbox, "fails")
	p.do(p.making(sandbox, "forever", 2))
	p.do(p.making(sandbox, "forever", 1))
	var got []uint32
	for _, c := range p.look().Containers {
		if c.Name == "forever" {
			got = append(got, c.Attempt)
		}
	}
	if len(got) != 3 || got[0] != 2 || got[1] != 1 || got[2] != 0 {
		p.Errorf("a look shows attempts %v, want 2, 1, 0", got)
	}
}

func containerWithoutImage(p *pod) {
	sandbox := p.sandbox()
	a := p.making(sandbox, "forever", 0)
	there := a
	a.Image, a.ImageID = "127.0.0.1:1/missing:1", "sha256:"+missing
	p.wantFailure(a)
	p.do(there) // the name is free again
}

func containerWithoutSandbox(p *pod) {
	sandbox := p.sandbox()
	a := p.making(sandbox, "forever", 0)
	p.do(node.StopSandbox{ID: sandbox})
	p.wantFailure(a)
	if got := p.look().Containers; len(got) > 0 {
		p.Errorf("a look shows %+v, want no container", got)
	}
}

func containerStartsOnce(p *pod) {
	id := p.start(p.sandbox(), "forever")
	began := p.inspect(id).StartedAt
	p.wantFailure(node.StartContainer{Container: "forever", ID: id})
	if got := p.inspect(id); got.State != node.ContainerRunning || !got.StartedAt.Equal(began) {
		p.Errorf("it is %s and began at %s, want running since %s", got.State, got.StartedAt, began)
	}
	p.do(node.StopContainer{Container: "forever", ID: id, Grace: grace})
	p.wantFailure(node.StartContainer{Container: "forever", ID: id})
	p.wantState(id, node.ContainerExited)
}

func containerWithoutProgram(p *pod) {
	id := p.create(p.sandbox(), "missing")
	p.wantFailure(node.StartContainer{Container: "missing", ID: id})
	got := p.inspect(id)
	if got.State != node.ContainerExited || got.ExitCode != 128 || got.Reason != "StartError" || got.FinishedAt.IsZero() {
		p.Errorf("it is %s, code %d, reason %q, ended at %s; want exited, 128, StartError",
			got.State, got.ExitCode, got.Reason, got.FinishedAt)
	}
}

func containerMissing(p *pod) {
	p.sandbox()
	if _, err := p.try(node.InspectContainer{ID: missing}); !errors.Is(err, node.ErrNotFound) {
		p.Errorf("inspect: got %v, want %v", err, node.ErrNotFound)
	}
	p.wantFailure(node.StartContainer{ID: missing})
}
