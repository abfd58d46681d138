package chaos

import (
	"fmt"
	"strings"
	"testing"
	"time"

	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubelettypes "k8s.io/kubelet/pkg/types"
)

func TestEvidenceNamesTheBrokenRule(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	attempt := func(number uint32, state runtimev1.ContainerState, started int64) *runtimev1.ContainerStatus {
		return &runtimev1.ContainerStatus{
			Id: fmt.Sprint("c", number), Metadata: &runtimev1.ContainerMetadata{Attempt: number}, State: state,
			StartedAt: started, Labels: map[string]string{kubelettypes.KubernetesPodUIDLabel: "u"},
		}
	}
	running := func(number uint32) *runtimev1.ContainerStatus {
		return attempt(number, runtimev1.ContainerState_CONTAINER_RUNNING, 1)
	}
	exited := func(number uint32, started int64) *runtimev1.ContainerStatus {
		return attempt(number, runtimev1.ContainerState_CONTAINER_EXITED, started)
	}
	sandbox := func(uid string, state runtimev1.PodSandboxState) *runtimev1.PodSandbox {
		return &runtimev1.PodSandbox{Metadata: &runtimev1.PodSandboxMetadata{Uid: uid}, State: state}
	}
	ready, dead := sandbox("u", runtimev1.PodSandboxState_SANDBOX_READY), sandbox("u", runtimev1.PodSandboxState_SANDBOX_NOTREADY)
	second := func(e *evidence) {
		e.attempts, e.restarts = []*runtimev1.ContainerStatus{exited(0, 0), running(1)}, 1
	}
	for _, c := range []struct {
		name   string
		change func(*evidence)
		want   string
	}{
		{"one run in one sandbox", func(*evidence) {}, ""},
		{"a start that was cut", second, ""},
		{"a program that was cut", func(e *evidence) { second(e); e.runs = []span{{at(10), at(12)}, {began: at(13)}} }, ""},
		{"a program that was cut and started again as the same attempt", func(e *evidence) { e.runs = []span{{at(10), at(12)}, {began: at(13)}} }, ""},
		{"a program that ended before the strike", func(e *evidence) { second(e); e.runs = []span{{at(8), at(10)}, {began: at(13)}} }, "no strike cut it"},
		{"a program that ended long after the strike", func(e *evidence) { second(e); e.runs = []span{{at(11), at(11).Add(2 * afterStrike)}, {began: at(99)}} }, "no strike cut it"},
		{"the same container as before the strike", func(e *evidence) { e.before = "c0" }, ""},
		{"another container than before the strike", func(e *evidence) { second(e); e.before = "c0" }, "ran before a strike"},
		{"a run that ended and was followed", func(e *evidence) { second(e); e.attempts[0] = exited(0, 1) }, "attempt 0 ran and ended"},
		{"two containers", func(e *evidence) { e.attempts = append(e.attempts, running(1)) }, "2 containers run"},
		{"no container", func(e *evidence) { e.attempts = nil }, "0 containers run"},
		{"a container that was never started", func(e *evidence) {
			e.attempts = append(e.attempts, attempt(1, runtimev1.ContainerState_CONTAINER_CREATED, 0))
		}, "is left as CONTAINER_CREATED"},
		{"a container of the pod's forerunner", func(e *evidence) { e.uid = "v" }, "of another pod"},
		{"restarts that the API hides", func(e *evidence) { second(e); e.restarts = 0 }, "shows 0 restarts"},
		{"a program that never connected", func(e *evidence) { e.runs = nil }, "0 programs are alive"},
		{"a cut program that lived on for a while", func(e *evidence) { second(e); e.runs = []span{{at(1), at(3)}, {began: at(2)}} }, "alive at once"},
		{"a cut program that lives on", func(e *evidence) { second(e); e.runs = []span{{began: at(1)}, {began: at(2)}} }, "2 programs are alive"},
		{"no sandbox", func(e *evidence) { e.sandboxes = nil }, "0 sandboxes"},
		{"a dead sandbox", func(e *evidence) { e.sandboxes[0] = dead }, "want 1 that is ready"},
		{"a sandbox of the pod's forerunner", func(e *evidence) { e.sandboxes[0] = sandbox("v", runtimev1.PodSandboxState_SANDBOX_READY) }, "of another pod"},
		{"a dead sandbox beside the ready one", func(e *evidence) { e.sandboxes = append(e.sandboxes, dead) }, "2 sandboxes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := evidence{
				uid: "u", attempts: []*runtimev1.ContainerStatus{running(0)}, sandboxes: []*runtimev1.PodSandbox{ready}, runs: []span{{began: at(1)}},
				strikes: []span{{at(11), at(12)}},
			}
			c.change(&e)
			got := strings.Join(e.faults(), "; ")
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
