package decide

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/manifest"
)

const (
	always    = corev1.RestartPolicyAlways
	onFailure = corev1.RestartPolicyOnFailure
	never     = corev1.RestartPolicyNever
)

var (
	now  = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	site = node.Site{Runtime: "sim", BackoffMax: node.DefaultBackoffMax}
)

func ago(seconds int) time.Time { return now.Add(-time.Duration(seconds) * time.Second) }

// scene is a pod with what was seen of it.
type scene struct {
	site    node.Site
	slot    *node.Slot
	got     *node.Observed
	busy    map[string]node.Action
	objects map[node.ObjectRef]int64
	unheard bool
	scarce  bool
	wanted  node.Wants
}

func (s *scene) input() Input {
	return Input{Site: s.site, Slot: s.slot, Got: s.got, Busy: s.busy, Objects: s.objects, Scarce: s.scarce, Unheard: s.unheard, Wanted: s.wanted, Now: now}
}

type option func(*scene)

// pod makes a pod with one application container, of which nothing is there.
func pod(policy corev1.RestartPolicy, options ...option) *scene {
	s := &scene{
		site: site,
		slot: &node.Slot{Tallies: map[string]node.Tally{}, Pod: &node.Pod{Accepted: ago(60), Object: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"},
			Spec:       corev1.PodSpec{RestartPolicy: policy, Containers: []corev1.Container{spec("app")}},
		}}},
		got:  &node.Observed{Faults: map[string]node.Fault{}, Images: map[string]node.Image{}},
		busy: map[string]node.Action{},
	}
	for _, o := range options {
		o(s)
	}
	return s
}

func spec(name string) corev1.Container {
	return corev1.Container{Name: name, Image: name + ":1", ImagePullPolicy: corev1.PullIfNotPresent}
}

func also(name string) option {
	return func(s *scene) {
		s.slot.Pod.Object.Spec.Containers = append(s.slot.Pod.Object.Spec.Containers, spec(name))
	}
}

func initially(name string) option {
	return func(s *scene) {
		s.slot.Pod.Object.Spec.InitContainers = append(s.slot.Pod.Object.Spec.InitContainers, spec(name))
	}
}

// sidecar is an init container that goes on running.
func sidecar(name string) option {
	return func(s *scene) {
		initially(name)(s)
		policy := corev1.ContainerRestartPolicyAlways
		list := s.slot.Pod.Object.Spec.InitContainers
		list[len(list)-1].RestartPolicy = &policy
	}
}

// pulled gives every container the image that it asks for.
func pulled(s *scene) {
	v := newView(s.input())
	for c := range v.containers() {
		s.got.Images[c.Name] = node.Image{Ref: c.Image, ID: "sha256:" + c.Image}
	}
}

// pulledAll does so for ephemeral containers as well.
func pulledAll(s *scene) {
	for c := range node.EveryContainer(&s.slot.Pod.Object.Spec) {
		s.got.Images[c.Name] = node.Image{Ref: c.Image, ID: "sha256:" + c.Image}
	}
}

func newImage(s *scene) { s.slot.Pod.Object.Spec.Containers[0].Image = "app:2" }

func restartOf(container string, attempt uint32) option {
	return func(s *scene) { s.slot.Pod.Restarts = []node.Restart{{Container: container, Attempt: attempt}} }
}

func tally(name string, restarts, streak int32) option {
	return func(s *scene) { s.slot.Tallies[name] = node.Tally{Restarts: restarts, Streak: streak} }
}

func fault(target string, seconds int) option {
	return func(s *scene) {
		s.got.Faults[target] = node.Fault{Reason: "Broken", Retry: now.Add(time.Duration(seconds) * time.Second)}
	}
}

func busy(a node.Action) option { return func(s *scene) { s.busy[a.Target()] = a } }

func deleted(seconds, grace int) option {
	return func(s *scene) {
		s.slot.Pod.Deletion = &node.Deletion{Requested: ago(seconds), Grace: time.Duration(grace) * time.Second, Reason: "deleted"}
	}
}

// scarce has the node's disk run short.
func scarce(s *scene) { s.scarce = true }

// behind has the pod wait for another one.
func behind(name, why string) option {
	return func(s *scene) {
		s.got.Behind = append(s.got.Behind, node.Unready{Key: node.Key{Namespace: "default", Name: name}, Why: why})
	}
}

func finished(s *scene) { s.slot.Result = &corev1.PodStatus{Phase: corev1.PodSucceeded} }

// box adds a sandbox that is newer than those that are there.
func box(state node.SandboxState, change ...func(*node.Sandbox)) option {
	return func(s *scene) {
		n := len(s.got.Sandboxes)
		made := node.Sandbox{ID: fmt.Sprintf("s%d", n), UID: "u1", Attempt: uint32(n), State: state, Inspected: true}
		for _, c := range change {
			c(&made)
		}
		s.got.Sandboxes = append([]node.Sandbox{made}, s.got.Sandboxes...)
	}
}

func stopped(s *node.Sandbox) { s.Stopped = true }

func ready(s *scene) { box(node.SandboxReady)(s) }

func gone(s *scene) { box(node.SandboxNotReady, stopped)(s) }

// run adds one in the newest sandbox, newer than those that are there.
func run(name string, state node.ContainerState, change ...func(*node.Container)) option {
	return func(s *scene) {
		of := spec(name)
		made := node.Container{UID: "u1", Name: name, State: state, Hash: manifest.ContainerHash(&of), Inspected: true}
		if len(s.got.Sandboxes) > 0 {
			made.SandboxID = s.got.Sandboxes[0].ID
		}
		if last := s.got.Newest("u1", name); last != nil {
			made.Attempt = last.Attempt + 1
		}
		made.ID = fmt.Sprintf("%s-%d", name, made.Attempt)
		for _, c := range change {
			c(&made)
		}
		s.got.Containers = append([]node.Container{made}, s.got.Containers...)
	}
}

func created(name string) option { return run(name, node.ContainerCreated) }

func running(name string) option { return run(name, node.ContainerRunning) }

// exited is a run of four seconds that ended one second ago.
func exited(name string, code int32, change ...func(*node.Container)) option {
	ended := func(c *node.Container) { c.ExitCode, c.StartedAt, c.FinishedAt = code, ago(5), ago(1) }
	return run(name, node.ContainerExited, append([]func(*node.Container){ended}, change...)...)
}

func unlearned(c *node.Container) { c.Inspected, c.ExitCode = false, 0 }

func attempt(n uint32) func(*node.Container) {
	return func(c *node.Container) { c.Attempt, c.ID = n, fmt.Sprintf("%s-%d", c.Name, n) }
}

// stranger hands what was added last to another pod of the name.
func stranger(s *scene) {
	if len(s.got.Containers) > 0 {
		s.got.Containers[0].UID, s.got.Containers[0].Grace = "u0", 7*time.Second
	}
	s.got.Sandboxes[0].UID = types.UID("u0")
}

// told writes a plan, one part after the other.
func (p Plan) told(done bool) string {
	var parts []string
	for _, a := range p.Actions {
		parts = append(parts, a.String())
	}
	if !p.Wake.IsZero() {
		parts = append(parts, "wake in "+p.Wake.Sub(now).String())
	}
	if p.Why != "" {
		parts = append(parts, "why "+p.Why)
	}
	if done {
		parts = append(parts, "done")
	}
	return strings.Join(parts, "; ")
}

type stepCase struct {
	name string
	pod  *scene
	want string
}

// testStep shows what one step makes of each scene.
func testStep(t *testing.T, step Step, cases []stepCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var p Plan
			done := step(&p, newView(c.pod.input()))
			if got := p.told(done); got != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
		})
	}
}

// testPod shows what all the steps make of each scene.
func testPod(t *testing.T, cases []stepCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := Pod(c.pod.input()).told(false); got != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
		})
	}
}

// probed gives the first application container probes of some kinds, readiness
// by HTTP and the others by a command, with a grace period of 5 s for those that end it.
func probed(kinds ...node.ProbeKind) option {
	return func(s *scene) {
		c := &s.slot.Pod.Object.Spec.Containers[0]
		c.Ports = []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}}
		ends := &corev1.Probe{
			ProbeHandler:                  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"ask"}}},
			TerminationGracePeriodSeconds: new(int64(5)),
		}
		for _, kind := range kinds {
			switch kind {
			case node.StartupProbe:
				c.StartupProbe = ends
			case node.LivenessProbe:
				c.LivenessProbe = ends
			case node.ReadinessProbe:
				c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{}}}
			}
		}
	}
}

// health sets the health of the newest run of app.
func health(h node.Health) option {
	return func(s *scene) {
		h.ID = s.got.Newest("u1", "app").ID
		s.got.Health = map[string]node.Health{"app": h}
	}
}

// noted sets the health of app that the journal has.
func noted(h node.Health) option {
	return func(s *scene) {
		h.ID = s.got.Newest("u1", "app").ID
		s.slot.Health = map[string]node.Health{"app": h}
	}
}

// at is the address of the newest sandbox.
func at(ip string) option { return func(s *scene) { s.got.Sandboxes[0].IPs = []string{ip} } }

func hostNetwork(s *scene) { s.slot.Pod.Object.Spec.HostNetwork = true }
