package cri

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestCreateHasItsEffectAsItsFaultSays(t *testing.T) {
	for _, c := range []struct {
		name    string
		rule    Rule
		code    codes.Code
		took    time.Duration
		at      int // containers when the client has its answer
		settled int // containers a minute later
	}{
		{"none", Rule{Method: "StartContainer", Kind: Hang}, codes.OK, 0, 1, 1},
		{"error before the effect", Rule{Kind: ErrorBefore}, codes.Unavailable, 0, 0, 0},
		{"error with a code", Rule{Kind: ErrorBefore, Code: codes.ResourceExhausted}, codes.ResourceExhausted, 0, 0, 0},
		{"error after the effect", Rule{Kind: ErrorAfter}, codes.Unavailable, 0, 1, 1},
		{"lost reply", Rule{Kind: LostReply}, codes.DeadlineExceeded, 10 * time.Second, 1, 1},
		{"hang", Rule{Kind: Hang}, codes.DeadlineExceeded, 10 * time.Second, 0, 0},
		{"late effect", Rule{Kind: Late, Delay: 5 * time.Second}, codes.DeadlineExceeded, 10 * time.Second, 0, 1},
		{"delay", Rule{Kind: Delay, Delay: 3 * time.Second}, codes.OK, 3 * time.Second, 1, 1},
		{"delay beyond patience", Rule{Kind: Delay, Delay: time.Hour}, codes.DeadlineExceeded, 10 * time.Second, 0, 0},
		{"slow reply", Rule{Kind: SlowReply, Delay: 3 * time.Second}, codes.OK, 3 * time.Second, 1, 1},
		{"not the nth call", Rule{Kind: ErrorBefore, Nth: 2}, codes.OK, 0, 1, 1},
		{"not each nth call", Rule{Kind: ErrorBefore, Every: 2}, codes.OK, 0, 1, 1},
		{"not this request", Rule{Kind: ErrorBefore, Match: func(any) bool { return false }}, codes.OK, 0, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, Config{}, func(f *fixture) {
				if c.rule.Method == "" {
					c.rule.Method = "Create*"
				}
				sandbox := f.sandbox("u1")
				f.server.Inject(Faults{Rules: []Rule{c.rule}})
				ctx, cancel := context.WithTimeout(f.Context(), 10*time.Second)
				defer cancel()
				begin := time.Now()
				_, err := f.create(ctx, sandbox, "run")
				f.wantCode(err, c.code)
				if took := time.Since(begin); took != c.took {
					f.Errorf("took %s, want %s", took, c.took)
				}
				if got := len(f.server.Snapshot().Containers); got != c.at {
					f.Errorf("got %d containers at once, want %d", got, c.at)
				}
				time.Sleep(time.Minute)
				if got := len(f.server.Snapshot().Containers); got != c.settled {
					f.Errorf("got %d containers at last, want %d", got, c.settled)
				}
			})
		})
	}
}

func TestNameIsTakenWhileTheCreateIsInFlight(t *testing.T) {
	inBubble(t, Config{}, func(f *fixture) {
		f.server.Inject(Faults{Rules: []Rule{{Method: "RunPodSandbox", Nth: 1, Kind: Late, Delay: 5 * time.Second}}})
		ctx, cancel := context.WithTimeout(f.Context(), time.Second)
		defer cancel()
		_, err := f.cri.RunPodSandbox(ctx, sandboxRequest("u1"))
		f.wantCode(err, codes.DeadlineExceeded)
		_, err = f.cri.RunPodSandbox(f.Context(), sandboxRequest("u1"))
		f.wantCode(err, codes.Unknown)
		time.Sleep(time.Minute)
		if got := len(f.server.Snapshot().Sandboxes); got != 1 {
			f.Errorf("got %d sandboxes, want the late one", got)
		}
	})
}

func TestCrashAbandonsALateEffectAndItsName(t *testing.T) {
	inBubble(t, Config{}, func(f *fixture) {
		f.server.Inject(Faults{Rules: []Rule{{Method: "RunPodSandbox", Nth: 1, Kind: Late, Delay: time.Hour}}})
		ctx, cancel := context.WithTimeout(f.Context(), time.Second)
		defer cancel()
		_, err := f.cri.RunPodSandbox(ctx, sandboxRequest("u1"))
		f.wantCode(err, codes.DeadlineExceeded)
		f.server.RestartRuntime()
		synctest.Wait()
		time.Sleep(2 * time.Hour)
		if got := len(f.server.Snapshot().Sandboxes); got != 0 {
			f.Errorf("got %d sandboxes, want none", got)
		}
		f.sandbox("u1")
	})
}

func TestAbandonedStopSendsTermButNotKill(t *testing.T) {
	inBubble(t, Config{}, func(f *fixture) {
		id := f.start(f.sandbox("u1"), "ignore-term")
		ctx, cancel := context.WithTimeout(f.Context(), time.Second)
		defer cancel()
		f.wantCode(f.stop(ctx, id, 30), codes.DeadlineExceeded)
		time.Sleep(time.Hour)
		if !f.container().Running() {
			f.Error("the container was killed, want it running")
		}
	})
}

func TestKillFromOutside(t *testing.T) {
	inBubble(t, Config{}, func(f *fixture) {
		sandbox := f.sandbox("u1")
		id := f.start(sandbox, "run")
		if err := f.server.Kill(id, 9); err != nil {
			f.Fatal(err)
		}
		if got := f.container(); got.Running() || got.ExitCode != 9 {
			f.Errorf("got running %t, code %d, want ended, 9", got.Running(), got.ExitCode)
		}
		if err := f.server.Kill(id, 9); err == nil {
			f.Error("kill of the dead: got no error, want one")
		}
		if err := f.server.KillSandbox(sandbox); err != nil {
			f.Fatal(err)
		}
		response, err := f.cri.PodSandboxStatus(f.Context(), &runtime.PodSandboxStatusRequest{PodSandboxId: sandbox})
		f.wantCode(err, codes.OK)
		if got := response.GetStatus().GetState(); got != runtime.PodSandboxState_SANDBOX_NOTREADY {
			f.Errorf("sandbox state: got %s, want not ready", got)
		}
	})
}
