package decide

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

const (
	startup   = node.StartupProbe
	readiness = node.ReadinessProbe
	liveness  = node.LivenessProbe
)

func TestProbes(t *testing.T) {
	all := probed(startup, readiness, liveness)
	started, condemned := node.Health{Started: ago(9)}, node.Health{Started: ago(9), Ready: true, Since: ago(8), Failed: liveness}
	for _, c := range []struct {
		name string
		pod  *scene
		want string
	}{
		{"a container without probes is not asked", pod(always, ready, at("10.0.0.1"), running("app")), ""},
		{"the startup probe comes before all others", pod(always, all, ready, at("10.0.0.1"), running("app")), "Startup of app-0 at 10.0.0.1"},
		{"and then the other two", pod(always, all, ready, at("10.0.0.1"), running("app"), health(started)),
			"Readiness of app-0 at 10.0.0.1; Liveness of app-0 at 10.0.0.1"},
		{"without a startup probe they are asked at once", pod(always, probed(readiness, liveness), ready, at("10.0.0.1"), running("app")),
			"Readiness of app-0 at 10.0.0.1; Liveness of app-0 at 10.0.0.1"},
		{"a run that does not live is not asked whether it does", pod(always, all, ready, at("10.0.0.1"), running("app"), health(condemned)),
			"Readiness of app-0 at 10.0.0.1"},
		{"nor is one that did not start", pod(always, all, ready, at("10.0.0.1"), running("app"), health(node.Health{Failed: startup})), ""},
		{"a pod that ends is asked whether it is ready", pod(always, all, ready, at("10.0.0.1"), running("app"), health(started), deleted(1, 30)),
			"Readiness of app-0 at 10.0.0.1"},
		{"but not whether it has started", pod(always, all, ready, at("10.0.0.1"), running("app"), deleted(1, 30)), ""},
		{"nor are the sidecars of a pod whose last run is condemned, while they end after it",
			pod(never, all, busybody, ready, at("10.0.0.1"), running("mate"), running("app"), health(condemned), noted(condemned)),
			"Readiness of app-0 at 10.0.0.1"},
		{"while another run follows, they are", pod(always, all, busybody, ready, at("10.0.0.1"), running("mate"), running("app"), health(condemned), noted(condemned)),
			"Liveness of mate-0 at 10.0.0.1; Readiness of app-0 at 10.0.0.1"},
		{"what was said of an older run does not count", pod(always, all, ready, at("10.0.0.1"), exited("app", 1), health(started), running("app")),
			"Startup of app-1 at 10.0.0.1"},
		{"a container that does not run is not asked", pod(always, all, ready, at("10.0.0.1"), exited("app", 1)), ""},
		{"nor one of which the start is not known", pod(always, all, ready, at("10.0.0.1"), run("app", node.ContainerRunning, unlearned)), ""},
		{"nor one whose sandbox is lost", pod(always, all, gone, at("10.0.0.1"), running("app")), ""},
		{"nor any of a pod that has finished", pod(always, all, ready, at("10.0.0.1"), running("app"), finished), ""},
		{"nor any of a pod of a newer agent's record", pod(always, newer, all, ready, at("10.0.0.1"), running("app")), ""},
		{"a command needs no address", pod(always, probed(readiness, liveness), ready, running("app")), "Liveness of app-0 at "},
		{"a pod in the host's network is asked there", pod(always, probed(readiness), hostNetwork, ready, at("10.0.0.1"), running("app")),
			"Readiness of app-0 at 192.0.2.1 in the host's network"},
	} {
		t.Run(c.name, func(t *testing.T) {
			there := site
			there.HostIPs = []string{"192.0.2.1"}
			var told []string
			for _, p := range Probes(there, c.pod.slot, c.pod.got) {
				text := fmt.Sprintf("%s of %s at %s", p.Kind, p.ID, p.Address)
				if p.HostNetwork {
					text += " in the host's network"
				}
				told = append(told, text)
				if p.Container == "app" && len(p.Ports) != 1 || p.UID != "u1" || p.Spec == nil {
					t.Errorf("probe = %+v", p)
				}
			}
			if got := strings.Join(told, "; "); got != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
		})
	}
}

// busybody is a sidecar with a liveness probe and a preStop hook.
func busybody(s *scene) {
	sidecar("mate")(s)
	c := &s.slot.Pod.Object.Spec.InitContainers[0]
	c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"ask"}}}}
	c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"bye"}}}}
}

func TestCondemned(t *testing.T) {
	alive := probed(readiness, liveness)
	failed := func(kind node.ProbeKind) option {
		return func(s *scene) { health(node.Health{Failed: kind})(s); noted(node.Health{Failed: kind})(s) }
	}
	hung := failed(liveness)
	testStep(t, condemned, []stepCase{
		{"a run that lives is left alone", pod(always, alive, ready, running("app"), health(node.Health{Ready: true})), ""},
		{"one that does not is ended within its probe's grace period", pod(always, alive, ready, running("app"), hung),
			"stop app app-0 grace=5s: Container app failed liveness probe, will be restarted"},
		{"or else within the pod's", pod(always, ready, running("app"), hung),
			"stop app app-0 grace=30s: Container app failed liveness probe, will be restarted"},
		{"where nothing is restarted nobody says so", pod(never, probed(startup), ready, running("app"), failed(startup)),
			"stop app app-0 grace=5s: Container app failed startup probe"},
		{"under OnFailure it is a failure, whatever it ends with", pod(onFailure, alive, ready, running("app"), hung),
			"stop app app-0 grace=5s: Container app failed liveness probe, will be restarted"},
		{"it goes on until that is journalled", pod(always, alive, ready, running("app"), health(node.Health{Failed: liveness})), ""},
		{"what has ended is not ended again", pod(always, alive, ready, exited("app", 137), hung), ""},
		{"a run that ends for another reason is not ended twice", pod(always, alive, ready, running("app"), hung, newImage), ""},
		{"nor one that a client wants restarted", pod(always, alive, ready, running("app"), hung, restartOf("app", 0)), ""},
		{"the next run has its own chance", pod(always, alive, ready, exited("app", 137), hung, running("app")), ""},
		{"a stop that failed rests", pod(always, alive, ready, running("app"), hung, fault("stop/app-0", 2)), "wake in 2s; why Broken"},
	})
}

func TestNoteHealth(t *testing.T) {
	isReady := func(seconds int) node.Health { return node.Health{Ready: true, Since: ago(seconds)} }
	testStep(t, noteHealth, []stepCase{
		{"nothing is noted of a run of which nothing was said", pod(always, ready, running("app")), ""},
		{"the first word is noted at once", pod(always, ready, running("app"), health(isReady(0))), "note app is ready"},
		{"what is noted is not noted again", pod(always, ready, running("app"), health(isReady(9)), noted(isReady(9))), ""},
		{"a change is noted", pod(always, ready, running("app"), health(node.Health{Since: ago(1)}), noted(isReady(11))), "note app is not ready"},
		{"at once that it is not ready any more", pod(always, ready, running("app"), health(node.Health{Since: ago(1)}), noted(isReady(4))), "note app is not ready"},
		{"but not right after that that it is ready again", pod(always, ready, running("app"), health(isReady(1)), noted(node.Health{Since: ago(4)})), "wake in 6s"},
		{"that it has failed is noted at once", pod(always, ready, running("app"), noted(isReady(4)), health(node.Health{Ready: true, Since: ago(4), Failed: liveness})),
			"note app is ready, failed Liveness"},
		{"that it has started does not put off that it is ready", pod(always, ready, running("app"), noted(node.Health{Started: ago(1)}), health(node.Health{Started: ago(1), Ready: true, Since: ago(0)})),
			"note app is started, ready"},
		{"what was noted of an older run does not count", pod(always, ready, exited("app", 1), noted(isReady(9)), running("app")), ""},
		{"nor is it of any use once a run has ended", pod(always, ready, exited("app", 1), health(isReady(1))), ""},
		{"a note that failed rests", pod(always, ready, running("app"), health(isReady(1)), fault("health/app", 3)), "wake in 3s; why Broken"},
	})
}

func TestProbesOfACondemnedRun(t *testing.T) {
	alive, hung := probed(liveness), health(node.Health{Failed: liveness})
	itself := func(policy corev1.ContainerRestartPolicy) option {
		return func(s *scene) { s.slot.Pod.Object.Spec.Containers[0].RestartPolicy = &policy }
	}
	testPod(t, []stepCase{
		{"a clean end of its own is no failure under OnFailure", pod(onFailure, alive, ready, exited("app", 0)), "settle Succeeded"},
		{"one that a probe brought about is", pod(onFailure, alive, ready, exited("app", 0), hung), "tally app restarts=1 streak=1"},
		{"one that a probe has failed for is a clean end", pod(onFailure, alive, ready, exited("app", 0), health(node.Health{Failed: liveness, FailedAt: ago(0)})), "settle Succeeded"},
		{"also where the container says OnFailure", pod(never, alive, itself("OnFailure"), ready, exited("app", 0), hung), "tally app restarts=1 streak=1"},
		{"its next run waits like after any crash", pod(onFailure, alive, ready, exited("app", 0), hung, tally("app", 0, 1)),
			"wake in 9s; why container app crashed, its next restart is due at 12:00:09"},
		{"under Never nothing follows", pod(never, alive, ready, exited("app", 0), hung), "settle Succeeded"},
		{"nor where the container says Never", pod(always, alive, itself("Never"), ready, exited("app", 143), hung), "settle Failed"},
		{"the next run is judged by its own end", pod(onFailure, alive, ready, exited("app", 0), hung, exited("app", 0)), "settle Succeeded"},
	})
}
