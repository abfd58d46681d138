package conformance

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func stopTerminates(t *testing.T, p *pod) {
	id := p.startReady(t, p.Programs.Run)
	wantSuccess(t, "stop", p.stop(t.Context(), id, 20))
	wantExit(t, p.status(t, id), 143, "Error")
}

func stopWaits(t *testing.T, p *pod) {
	id := p.startReady(t, p.Programs.SlowTerm)
	begin := time.Now()
	wantSuccess(t, "stop", p.stop(t.Context(), id, 20))
	if took := time.Since(begin); took < 500*time.Millisecond {
		t.Errorf("the stop took %s, want the program's half second", took)
	}
	wantExit(t, p.status(t, id), 143, "Error")
}

func stopKillsAfterGrace(t *testing.T, p *pod) {
	id := p.startReady(t, p.Programs.IgnoreTerm)
	begin := time.Now()
	wantSuccess(t, "stop", p.stop(t.Context(), id, 1))
	if took := time.Since(begin); took < time.Second {
		t.Errorf("the stop took %s, want the whole grace period of 1s", took)
	}
	wantExit(t, p.status(t, id), 137, "Error")
}

func stopWithoutGrace(t *testing.T, p *pod) {
	id := p.startReady(t, p.Programs.SlowTerm)
	wantSuccess(t, "stop", p.stop(t.Context(), id, 0))
	wantExit(t, p.status(t, id), 137, "Error")
}

func secondStopShortens(t *testing.T, p *pod) {
	id := p.startReady(t, p.Programs.IgnoreTerm)
	first := make(chan error, 1)
	go func() { first <- p.stop(t.Context(), id, 600) }()
	wantSuccess(t, "second stop", p.stop(t.Context(), id, 1))
	wantExit(t, p.status(t, id), 137, "Error")
	wantSuccess(t, "first stop", <-first)
}

func stopOfExited(t *testing.T, p *pod) {
	id := p.start(t, "main", p.Programs.Exit3)
	before := p.waitExit(t, id)
	wantSuccess(t, "stop", p.stop(t.Context(), id, 1))
	after := p.status(t, id)
	wantExit(t, after, 3, "Error")
	if before.GetFinishedAt() != after.GetFinishedAt() {
		t.Errorf("finished at: got %d after the stop, want %d as before", after.GetFinishedAt(), before.GetFinishedAt())
	}
}

func stopOfCreated(t *testing.T, p *pod) {
	id := p.create(t, "main", p.Programs.Run)
	wantSuccess(t, "stop", p.stop(t.Context(), id, 1))
	if got := p.status(t, id).GetState(); got != runtime.ContainerState_CONTAINER_CREATED {
		t.Errorf("state: got %s, want created", got)
	}
}

// stopOfMissing accepts two answers: containerd 1.6 returns NotFound, containerd 2 succeeds.
func stopOfMissing(t *testing.T, p *pod) {
	_, sandboxErr := p.cri.StopPodSandbox(t.Context(), &runtime.StopPodSandboxRequest{PodSandboxId: missingID})
	for what, err := range map[string]error{"container": p.stop(t.Context(), missingID, 1), "sandbox": sandboxErr} {
		if code := status.Code(err); code != codes.OK && code != codes.NotFound {
			t.Errorf("stop a missing %s: got %v, want success or NotFound", what, err)
		}
	}
}

func abandonedStop(t *testing.T, p *pod) {
	id := p.startReady(t, p.Programs.IgnoreTerm)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	wantFailure(t, "stop with an impatient client", p.stop(ctx, id, 600))
	if got := p.status(t, id).GetState(); got != runtime.ContainerState_CONTAINER_RUNNING {
		t.Errorf("state: got %s, want running", got)
	}
	wantSuccess(t, "stop again", p.stop(t.Context(), id, 1))
	wantExit(t, p.status(t, id), 137, "Error")
}
