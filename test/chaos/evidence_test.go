package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubelettypes "k8s.io/kubelet/pkg/types"

	"nodal/test/pace"
)

// evidence holds all that is known of one pod at rest.
type evidence struct {
	uid       string                       // as acknowledged
	attempts  []*runtimev1.ContainerStatus // all attempts that the runtime ever showed, in order
	sandboxes []*runtimev1.PodSandbox
	runs      []span // the runs that the programs reported, in order of their starts
	strikes   []span
	before    string // the container that ran before a strike, if any
	restarts  int32  // as the API shows it
}

// faults returns the rules that the evidence breaks: an accepted pod has one run in one sandbox,
// and no run was repeated.
func (e evidence) faults() []string {
	return slices.Concat(e.attemptFaults(), e.runningFaults(), e.programFaults(), e.sandboxFaults())
}

func (e evidence) attemptFaults() (faults []string) {
	for _, a := range e.attempts {
		number := a.GetMetadata().GetAttempt()
		switch {
		case a.GetLabels()[kubelettypes.KubernetesPodUIDLabel] != e.uid:
			faults = append(faults, fmt.Sprintf("attempt %d is of another pod", number))
		case a.GetState() == runtimev1.ContainerState_CONTAINER_RUNNING || cut(a):
		case a.GetState() == runtimev1.ContainerState_CONTAINER_EXITED:
			faults = append(faults, fmt.Sprintf("attempt %d ran and ended", number))
		default:
			faults = append(faults, fmt.Sprintf("attempt %d is left as %s", number, a.GetState()))
		}
	}
	return faults
}

func (e evidence) runningFaults() (faults []string) {
	running := slices.DeleteFunc(slices.Clone(e.attempts), func(a *runtimev1.ContainerStatus) bool {
		return a.GetState() != runtimev1.ContainerState_CONTAINER_RUNNING
	})
	if len(running) != 1 {
		return []string{fmt.Sprintf("%d containers run, want 1", len(running))}
	}
	if id := running[0].GetId(); e.before != "" && e.before != id {
		faults = append(faults, fmt.Sprintf("container %s ran before a strike and %s runs now", e.before, id))
	}
	if got, want := e.restarts, int32(running[0].GetMetadata().GetAttempt()); got != want {
		faults = append(faults, fmt.Sprintf("the API shows %d restarts, the runtime runs attempt %d", got, want))
	}
	return faults
}

// afterStrike bounds how long a runtime takes to give up interrupted starts.
var afterStrike = pace.Of(10 * time.Second)

// programFaults finds programs that ran beside or before the wanted one. Only a program that a
// strike interrupted in its start may have run before.
func (e evidence) programFaults() (faults []string) {
	if got := alive(e.runs); got != 1 {
		faults = append(faults, fmt.Sprintf("%d programs are alive, want 1", got))
	}
	for _, r := range e.runs[:max(0, len(e.runs)-1)] {
		if !slices.ContainsFunc(e.strikes, r.cutBy) {
			faults = append(faults, fmt.Sprintf("a program came before the last one, and no strike cut it: %s", r))
		}
	}
	if a, b, ok := together(e.runs); ok {
		faults = append(faults, fmt.Sprintf("two programs were alive at once: %s and %s", a, b))
	}
	return faults
}

func (e evidence) sandboxFaults() (faults []string) {
	for _, s := range e.sandboxes {
		if s.GetMetadata().GetUid() != e.uid {
			faults = append(faults, fmt.Sprintf("sandbox %s is of another pod", s.GetId()))
		}
	}
	if len(e.sandboxes) != 1 || e.sandboxes[0].GetState() != runtimev1.PodSandboxState_SANDBOX_READY {
		faults = append(faults, fmt.Sprintf("%d sandboxes are there, want 1 that is ready", len(e.sandboxes)))
	}
	return faults
}

// cuts returns the number of interrupted starts.
func (e evidence) cuts() (n int) {
	for _, a := range e.attempts {
		if cut(a) {
			n++
		}
	}
	return n
}

// cut reports whether a start was interrupted. When an agent is killed, the runtime drops the
// starts it was asked for: it kills a program that is just starting, and keeps an attempt that
// never started. The next attempt may follow. A killed runtime does so when it comes back, and the
// same attempt may then start again.
func cut(a *runtimev1.ContainerStatus) bool {
	return a.GetState() == runtimev1.ContainerState_CONTAINER_EXITED && a.GetStartedAt() == 0
}

// cutBy reports whether a strike may have made the runtime end a program that was just starting.
func (s span) cutBy(strike span) bool {
	until := strike.ended.Add(afterStrike)
	return s.began.Before(until) && s.ended.After(strike.began) && s.ended.Before(until)
}

// String returns the evidence for a failure message.
func (e evidence) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "accepted as %s, %d restarts shown\n", e.uid, e.restarts)
	for _, s := range e.sandboxes {
		fmt.Fprintf(&b, "sandbox %d %s: %s, of pod %s\n", s.GetMetadata().GetAttempt(), s.GetId(), s.GetState(), s.GetMetadata().GetUid())
	}
	for _, a := range e.attempts {
		fmt.Fprintf(&b, "attempt %d %s: %s %s %s", a.GetMetadata().GetAttempt(), a.GetId(), a.GetState(), a.GetReason(), a.GetMessage())
		for _, at := range []struct {
			what  string
			nanos int64
		}{{"created", a.GetCreatedAt()}, {"started", a.GetStartedAt()}, {"finished", a.GetFinishedAt()}} {
			if at.nanos != 0 {
				fmt.Fprintf(&b, ", %s %s", at.what, clock(time.Unix(0, at.nanos)))
			}
		}
		b.WriteByte('\n')
	}
	for _, r := range e.runs {
		fmt.Fprintf(&b, "a program lived %s\n", r)
	}
	for _, s := range e.strikes {
		fmt.Fprintf(&b, "a strike %s\n", s)
	}
	return b.String()
}
