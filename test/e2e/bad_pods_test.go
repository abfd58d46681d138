package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"

	"nodal/host/journal"
	inner "nodal/node"
	"nodal/node/store"
	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/pace"
)

// ends returns how the newest run of a container ended, if it does not run.
func ends(p *corev1.Pod) *corev1.ContainerStateTerminated {
	s := containerStatus(p, "main")
	if s.State.Terminated != nil {
		return s.State.Terminated
	}
	return s.LastTerminationState.Terminated
}

func waits(p *corev1.Pod, reason string) bool {
	w := containerStatus(p, "main").State.Waiting
	return w != nil && w.Reason == reason
}

// ghost pushes an image whose user does not exist in it.
func (n *node) ghost() string {
	n.t.Helper()
	ref, err := name.ParseReference(n.rt.Image("busybox"), name.Insecure)
	if err != nil {
		n.t.Fatal(err)
	}
	image, err := remote.Image(ref)
	if err != nil {
		n.t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		n.t.Fatal(err)
	}
	config.Config.User = "ghost"
	if image, err = mutate.Config(image, config.Config); err != nil {
		n.t.Fatal(err)
	}
	pushed, err := n.rt.Push("ghost:1", image)
	if err != nil {
		n.t.Fatal(err)
	}
	return pushed
}

// restarted waits until the node has counted this many restarts of a pod's main container.
func (n *node) restarted(pod string, times int32) {
	n.t.Helper()
	n.Kill()
	j, err := journal.Open(filepath.Join(n.Root(), "journal"), slog.New(slog.DiscardHandler))
	if err != nil {
		n.t.Fatal(err)
	}
	records, _, err := j.Load()
	if err != nil {
		n.t.Fatal(err)
	}
	for _, r := range records {
		slot := &inner.Slot{}
		if r.Name != "pods/default_"+pod {
			continue
		}
		if err := json.Unmarshal(r.Data, slot); err != nil {
			n.t.Fatal(err)
		}
		tally := slot.Tallies["main"]
		tally.Restarts = max(tally.Restarts, times)
		slot.Tallies = map[string]inner.Tally{"main": tally}
		data, err := json.Marshal(slot)
		if err := errors.Join(err, j.Commit(store.Record{Name: r.Name, Data: data})); err != nil {
			n.t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		n.t.Fatal(err)
	}
	n.up()
}

// TestBadPodsHarmNoOthers runs pods that must fail beside one that works.
func TestBadPodsHarmNoOthers(t *testing.T) {
	claim.Shows(t, "Restarts and faults",
		"a missing command ends with StartError, 128: its container waits with RunContainerError and then CrashLoopBackOff, or has failed if its policy forbids restarts",
		"an environment that is too large for the kernel makes its container crash, with the kernel's message",
		"an image whose user does not exist keeps its container in CreateContainerError, or in CreateContainerConfigError with runAsNonRoot",
		"a probe whose named port does not exist makes an Unhealthy event and restarts nothing; an invalid port is refused",
		"a container that ignores SIGTERM is killed when its grace period is over",
		"a container that crashes over and over leaves two runs and their logs, also after 10,000 restarts",
		"a postStart hook that hangs keeps its container in ContainerCreating, and hooks that hang end with their pod's grace period",
		"no such pod restarts a pod beside it, stops it or makes it unready",
	)
	n := start(t, func(c *agent.Config) {
		c.Settings["podPidsLimit"] = 60
		c.Settings["crashLoopBackOff"] = map[string]any{"maxContainerRestartPeriod": "1s"}
	})
	n.apply(adding(web("neighbour"), "readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1, failureThreshold: 2, timeoutSeconds: 10}"))
	before := n.waitRunning("neighbour")
	running := fmt.Sprint(n.containers("neighbour"))
	unharmed := func(after string) {
		t.Helper()
		got := n.get("neighbour")
		if !ready(got) || readyTime(got) != readyTime(before) || containerStatus(got, "main").RestartCount != 0 || !got.Status.StartTime.Equal(before.Status.StartTime) {
			t.Errorf("after %s the neighbour is %+v, want it as before, %+v", after, got.Status, before.Status)
		}
		if now := fmt.Sprint(n.containers("neighbour")); now != running {
			t.Errorf("after %s the neighbour runs as %s, want %s", after, now, running)
		}
	}
	for _, c := range badPods(n.ghost()) {
		t.Run(c.name, func(t *testing.T) {
			n.apply("@" + n.file(c.name+".yaml", c.manifest)) // one manifest is too long for curl's command line
			p := n.wait(c.name, c.wanted, c.holds)
			if e := ends(p); c.ended != "" && !c.fits(e) {
				t.Errorf("the container ended as %+v, want %s, %d, with %q", e, c.ended, c.code, c.says)
			}
			unharmed(c.name)
			n.deletePod(c.name, "?gracePeriodSeconds=0")
		})
	}
	t.Run("deaf", func(t *testing.T) {
		p := shell("deaf", "trap '' TERM; touch /deaf; while :; do sleep 0.1; done")
		p.grace = 2
		n.apply(adding(p, "readinessProbe: {exec: {command: [test, -f, /deaf]}, periodSeconds: 1}"))
		n.waitRunning("deaf")
		events := n.follow("/v1/events:watch")
		n.deletePod("deaf", "")
		events.until("ended with exit code 137")
		unharmed("deaf")
	})
	t.Run("bomb", func(t *testing.T) {
		n.apply(shell("bomb", "b() { b | b & }; b; exec sleep 1000").yaml())
		n.waitRunning("bomb")
		pid := n.pidOf("bomb", "main")
		n.eventually("the bomb at its limit", func() bool {
			return n.cgroupFile(pid, 1, "pids pids.events", "pids.events") != "max 0" ||
				n.cgroupFile(pid, 0, "pids pids.events", "pids.events") != "max 0"
		})
		unharmed("bomb")
		n.deletePod("bomb", "?gracePeriodSeconds=0")
	})
	t.Run("crash", func(t *testing.T) {
		n.apply(runs("crash", "exit", "7").yaml())
		for _, restarts := range []int32{5, 10_000} {
			if restarts > 5 {
				n.restarted("crash", restarts-2)
			}
			p := n.wait("crash", fmt.Sprint(restarts, " restarts"), func(p *corev1.Pod) bool {
				return containerStatus(p, "main").RestartCount >= restarts && waits(p, "CrashLoopBackOff")
			})
			last := func(c container) bool { return c.attempt >= uint32(restarts) }
			if got := n.containers("crash"); len(got) > 3 || !slices.ContainsFunc(got, last) {
				t.Errorf("the runtime keeps the runs %+v, want two beside what begins", got)
			}
			logs, err := filepath.Glob(fmt.Sprintf("%s/default_crash_%s/main/*.log", n.PodLogs(), p.UID))
			if err != nil || len(logs) == 0 || len(logs) > 3 {
				t.Errorf("after %d restarts the logs are %v, %v, want two beside what begins", restarts, logs, err)
			}
			unharmed(fmt.Sprint(restarts, " crashes"))
		}
	})
	t.Run("hung", func(t *testing.T) {
		hung := func(name, hook string) *hooked {
			return n.hooked(name, "terminationGracePeriodSeconds: 4").list("containers").
				runs("main", loop, "lifecycle:", "  "+hook+": "+command(says(hook)+"; sleep 1000")).apply()
		}
		begins, ends := hung("hung-begin", "postStart"), hung("hung-end", "preStop")
		begins.tells("postStart")
		p := n.wait("hung-begin", "its hook", func(p *corev1.Pod) bool {
			return waits(p, "ContainerCreating") && containerStatus(p, "main").ContainerID != ""
		})
		if p.Status.Phase != corev1.PodPending || condition(p, corev1.PodReady) != corev1.ConditionFalse {
			t.Errorf("while its hook hangs the pod is %+v, want it pending", p.Status)
		}
		n.waitRunning("hung-end")
		for _, name := range []string{"hung-begin", "hung-end"} {
			if took := n.deletePod(name, ""); took > pace.Of(15*time.Second) {
				t.Errorf("%s, with 4 s of grace, was gone after %s", name, took)
			}
		}
		ends.wantStory("preStop")
		unharmed("hooks that hang")
	})
	t.Run("portless", func(t *testing.T) {
		probe := "{tcpSocket: {port: gone}, periodSeconds: 1, failureThreshold: 1}"
		n.apply(adding(web("portless"), "livenessProbe: "+probe, "readinessProbe: "+probe))
		n.follow("/v1/events:watch").until("errored and resulted in unknown state: find port")
		if p := n.get("portless"); state(p) != "started=true ready=false restarts=0 Ready=False" {
			t.Errorf("the pod is %s", state(p))
		}
		unharmed("portless")
	})
	for field, probe := range map[string]string{
		"livenessProbe.tcpSocket.port": "livenessProbe: {tcpSocket: {port: 70000}}",
		"startupProbe.grpc.port":       "startupProbe: {grpc: {port: 0}}",
	} {
		if got := n.curl("/v1/manifests", "--data-binary", adding(web("noport"), probe)); got.code != 400 || !strings.Contains(got.body, "spec.containers[0]."+field) {
			t.Errorf("%s: got %s, want 400 that names the field", probe, got)
		}
	}
	unharmed("all")
}

// anyFailure matches every exit code but 0.
const anyFailure = -1

type badPod struct {
	name, manifest, wanted string
	holds                  func(*corev1.Pod) bool
	ended                  string // why its container ended; empty: no container was made
	code                   int32  // anyFailure where the code depends on the runtime
	says                   string
}

// fits reports whether a container has ended as it should.
func (p badPod) fits(e *corev1.ContainerStateTerminated) bool {
	return e != nil && e.Reason == p.ended && strings.Contains(e.Message, p.says) &&
		(e.ExitCode == p.code || p.code == anyFailure && e.ExitCode != 0)
}

func badPods(ghost string) []badPod {
	once := runs("nothing-once")
	once.restart = "Never"
	const nothing = "command: [/not/there]"
	failed := func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed && ends(p) != nil }
	retried := func(p *corev1.Pod) bool {
		return ends(p) != nil && (waits(p, "RunContainerError") || waits(p, "CrashLoopBackOff"))
	}
	of := func(image string, p pod, lines ...string) string {
		return strings.Replace(adding(p, lines...), "nodal.test/probe:1", image, 1)
	}
	return []badPod{
		{"nothing-once", adding(once, nothing), "failed", failed, "StartError", 128, "no such file or directory"},
		{"nothing", adding(runs("nothing"), nothing), "RunContainerError", retried, "StartError", 128, "no such file or directory"},
		{"stuffed", adding(runs("stuffed"), "terminationMessagePolicy: FallbackToLogsOnError", "env: [{name: LONG, value: "+strings.Repeat("x", 1<<20)+"}]"),
			"CrashLoopBackOff", retried, "Error", anyFailure, "argument list too long"},
		{"ghost", of(ghost, runs("ghost")), "CreateContainerError", func(p *corev1.Pod) bool { return waits(p, "CreateContainerError") }, "", 0, ""},
		{"ghost-nonroot", of(ghost, runs("ghost-nonroot"), "securityContext: {runAsNonRoot: true}"), "CreateContainerConfigError",
			func(p *corev1.Pod) bool { return waits(p, "CreateContainerConfigError") }, "", 0, ""},
	}
}
