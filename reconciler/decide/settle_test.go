package decide

import (
	"testing"
	"time"

	"nodal/node"
)

func TestPrune(t *testing.T) {
	testStep(t, prune, []stepCase{
		{"two runs of each container are kept", pod(always, also("side"), ready, exited("app", 1), running("app"), exited("side", 1), exited("side", 1)), ""},
		{"older ones are removed", pod(always, ready, exited("app", 1), exited("app", 1), exited("app", 1), running("app")),
			"remove app app-1; remove app app-0"},
		{"one that a late call has made beside one that runs was never a run", pod(always, ready, exited("app", 1), running("app"), created("app")), "remove app app-2"},
		{"one that is made to run next stays", pod(always, ready, exited("app", 1), created("app")), ""},
		{"a removal that failed rests", pod(always, ready, exited("app", 1), exited("app", 1), running("app"), fault("remove/app-0", 2)), "wake in 2s; why Broken"},
		{"what has a process is never removed", pod(always, ready, running("app"), exited("app", 1), exited("app", 1)), ""},
		{"a sandbox with a run that is kept stays", pod(always, gone, exited("app", 1), ready, running("app")), ""},
		{"an empty one goes", pod(always, gone, ready, running("app")), "remove sandbox s0"},
		{"one that was not stopped stays", pod(always, box(node.SandboxNotReady), ready, running("app")), ""},
		{"the newest stays, whose attempt the next one follows", pod(always, gone), ""},
	})
}

// keeping has the node keep another number of runs.
func keeping(r node.Retention) option { return func(s *scene) { s.site.Retention = &r } }

func TestPruneByTheSettings(t *testing.T) {
	made := func(seconds int) func(*node.Container) {
		return func(c *node.Container) { c.CreatedAt = ago(seconds) }
	}
	testStep(t, prune, []stepCase{
		{"none besides the newest", pod(always, ready, exited("app", 1), running("app"), keeping(node.Retention{Node: -1})), "remove app app-0"},
		{"the newest stays in any case", pod(always, ready, exited("app", 1), keeping(node.Retention{})), ""},
		{"two besides the newest", pod(always, ready, exited("app", 1), exited("app", 1), exited("app", 1), running("app"),
			keeping(node.Retention{Older: 2, Node: -1})), "remove app app-0"},
		{"all", pod(always, ready, exited("app", 1), exited("app", 1), exited("app", 1), running("app"), keeping(node.Retention{Older: -1})), ""},
		{"one that is too young stays for a while", pod(always, ready, exited("app", 1, made(50)), exited("app", 1, made(90)), running("app"),
			keeping(node.Retention{MinAge: time.Minute, Node: -1})), "remove app app-1; wake in 10s; why a run that has ended has to be kept for a while"},
	})
}

func TestARunThatIsInspectedIsNotRemovedBeside(t *testing.T) {
	s := pod(always, ready, exited("app", 1, unlearned), running("app"), keeping(node.Retention{Node: -1}))
	var plan Plan
	learn(&plan, newView(s.input()))
	prune(&plan, newView(s.input()))
	if got, want := plan.told(false), "inspect app app-0"; got != want {
		t.Errorf("got %q, want %q alone", got, want)
	}
}

func TestSettle(t *testing.T) {
	testStep(t, settle, []stepCase{
		{"a pod whose containers have succeeded has", pod(onFailure, also("side"), ready, exited("app", 0), exited("side", 0)), "settle Succeeded"},
		{"a failure under Never fails the pod", pod(never, also("side"), ready, exited("app", 0), exited("side", 1)), "settle Failed"},
		{"a failed init container fails the pod", pod(never, initially("setup"), ready, exited("setup", 1)), "settle Failed"},
		{"a pod that lost its sandbox after its run has failed", pod(never, gone, exited("app", 137)), "settle Failed"},
		{"nothing is settled under Always", pod(always, ready, exited("app", 0)), ""},
		{"nothing is settled while something runs", pod(never, also("side"), ready, exited("app", 1), running("side")), ""},
		{"nothing is settled before all have run", pod(never, also("side"), ready, exited("app", 1)), ""},
		{"nothing is settled on an end that is not understood", pod(never, ready, exited("app", 0, unlearned), fault("inspect/app-0", 2)), ""},
		{"nor where the next run was made, and never started", pod(always, doomed(1), ready, exited("app", 1, unlearned), created("app")), ""},
		{"nothing is settled while something is under way", pod(never, ready, exited("app", 0), busy(node.StopContainer{ID: "app-0"})), ""},
		{"the record rests when the disk refused it", pod(never, ready, exited("app", 0), fault("pod", 5)), "wake in 5s; why Broken"},
	})
}

func TestPodIsSettledOnlyAfterItsRunsWereInspected(t *testing.T) {
	testPod(t, []stepCase{
		{"an end is learnt first", pod(never, ready, exited("app", 0, unlearned)), "inspect app app-0"},
		{"however often that fails", pod(never, ready, exited("app", 0, unlearned), fault("inspect/app-0", 2)), "wake in 2s; why Broken"},
		{"then the pod is settled", pod(never, ready, exited("app", 0)), "settle Succeeded"},
	})
}

func TestAFinishedPodGivesUpItsContainersWhenTheDiskRunsShort(t *testing.T) {
	const why = "; why the pod has finished; done"
	torn := without(node.Volumes)
	testStep(t, settled, []stepCase{
		{"while there is room they stay", pod(never, finished, gone, torn, exited("app", 0)), "why the pod has finished; done"},
		{"they go with their sandbox", pod(never, finished, gone, torn, exited("app", 0), scarce), "remove sandbox s0" + why},
		{"its volumes go first", pod(never, finished, gone, exited("app", 0), scarce), "tear down volumes" + why},
		{"then its logs", pod(never, finished, torn, scarce), "tear down logs" + why},
		{"then it rests", pod(never, finished, torn, without(node.Logs), scarce), "why the pod has finished; done"},
	})
}
