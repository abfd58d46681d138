package action

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/manifest"
	"nodal/test/pace"
)

const (
	grace    = 7 * time.Second
	patience = 30 * time.Second // for a change that the runtime makes by itself
	missing  = "0000000000000000000000000000000000000000000000000000000000000000"
)

// pod is one case's pod on the runtime under test.
type pod struct {
	*testing.T
	Runtime
	*node.Pod
}

// newPod returns a pod with one container for each program, named in lower case. It is removed
// after the case.
func newPod(t *testing.T, rt Runtime, uid string) *pod {
	t.Helper()
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name(uid), UID: types.UID(uid)},
		Spec:       corev1.PodSpec{TerminationGracePeriodSeconds: new(int64(grace / time.Second))},
	}
	for program, name := range []string{"forever", "deaf", "fails", "missing"} {
		c := corev1.Container{Name: name}
		rt.Run(&c, Program(program))
		object.Spec.Containers = append(object.Spec.Containers, c)
	}
	object.Spec.Containers[Forever].Lifecycle = &corev1.Lifecycle{
		PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"do"}}},
	}
	manifest.Default(object)
	p := &pod{t, rt, &node.Pod{Source: node.SourceAPI, Object: object}}
	t.Cleanup(p.clear)
	return p
}

// name returns a pod's name made from a case's name.
func name(uid string) string {
	return strings.Trim(strings.ReplaceAll(uid, "'", "")[:min(40, len(uid)-1)], "-")
}

// clear removes what exists of the pod.
func (p *pod) clear() {
	for _, s := range p.look().Sandboxes {
		p.do(node.StopSandbox{ID: s.ID})
		p.do(node.RemoveSandbox{ID: s.ID})
	}
}

// try performs an action that may fail.
func (p *pod) try(a node.Action) (node.Result, error) {
	p.Helper()
	return p.Do(p.live(), p.Pod, p.look(), a)
}

// do performs an action that has to succeed.
func (p *pod) do(a node.Action) node.Result {
	p.Helper()
	result, err := p.try(a)
	if err != nil {
		p.Fatalf("%s: %v", a, err)
	}
	return result
}

// look returns what the runtime shows of the pod.
func (p *pod) look() *node.Observed {
	p.Helper()
	key := p.Key()
	all, err := p.List(p.live(), &key)
	if err != nil {
		p.Fatalf("look at %s: %v", key, err)
	}
	if all[key] == nil {
		return &node.Observed{}
	}
	return all[key]
}

// sandbox runs the pod's first sandbox.
func (p *pod) sandbox() string {
	p.Helper()
	return p.do(node.RunSandbox{}).ID
}

// making returns the action that creates a run of a container. Its image is on the machine by then.
func (p *pod) making(sandbox, container string, attempt uint32) node.CreateContainer {
	p.Helper()
	spec := p.spec(container)
	ensure := node.EnsureImage{Container: container, Attempt: attempt, Ref: spec.Image, Policy: corev1.PullIfNotPresent}
	image, err := p.Images.Ensure(p.live(), p.Pod, ensure)
	if err != nil {
		p.Fatalf("%s: %v", ensure, err)
	}
	return node.CreateContainer{
		Container: container, Attempt: attempt, SandboxID: sandbox, Image: spec.Image, ImageID: image.ID,
		Hash: manifest.ContainerHash(spec),
	}
}

func (p *pod) spec(container string) *corev1.Container {
	for i := range p.Object.Spec.Containers {
		if c := &p.Object.Spec.Containers[i]; c.Name == container {
			return c
		}
	}
	p.Fatalf("the pod has no container %s", container)
	return nil
}

func (p *pod) create(sandbox, container string) string {
	p.Helper()
	return p.do(p.making(sandbox, container, 0)).ID
}

func (p *pod) start(sandbox, container string) string {
	p.Helper()
	id := p.create(sandbox, container)
	p.do(node.StartContainer{Container: container, ID: id})
	return id
}

func (p *pod) inspect(id string) node.Container {
	p.Helper()
	return *p.do(node.InspectContainer{Container: "one", ID: id}).Container
}

// shown returns a run as a look shows it.
func (p *pod) shown(id string) (node.Container, bool) {
	p.Helper()
	for _, c := range p.look().Containers {
		if c.ID == id {
			return c, true
		}
	}
	return node.Container{}, false
}

// wantState checks the state of a run in a look.
func (p *pod) wantState(id string, want node.ContainerState) {
	p.Helper()
	if got, ok := p.shown(id); !ok || got.State != want {
		p.Errorf("a look shows %s, there is %t; want %s", got.State, ok, want)
	}
}

// wantEnd checks that a run has ended with an exit code.
func (p *pod) wantEnd(id string, code int32) {
	p.Helper()
	p.wantState(id, node.ContainerExited)
	got := p.inspect(id)
	if got.ExitCode != code || got.FinishedAt.IsZero() || got.FinishedAt.Before(got.StartedAt) {
		p.Errorf("it ended with %d at %s, began at %s; want %d", got.ExitCode, got.FinishedAt, got.StartedAt, code)
	}
}

// await waits until a run has ended by itself.
func (p *pod) await(id string) {
	p.Helper()
	p.until("has ended", id, func(c node.Container) bool { return c.State == node.ContainerExited })
}

// until waits until a condition holds for a run.
func (p *pod) until(what, id string, holds func(node.Container) bool) {
	p.Helper()
	for end := p.Now().Add(pace.Of(patience)); p.Now().Before(end); p.Pass(50 * time.Millisecond) {
		if c, ok := p.shown(id); ok && holds(c) {
			return
		}
	}
	p.Fatalf("it does not hold after %s that container %s %s", pace.Of(patience), id, what)
}

// wantFailure performs an action and checks that it fails for certain.
func (p *pod) wantFailure(a node.Action) {
	p.Helper()
	var failure *node.Failure
	if _, err := p.try(a); !errors.As(err, &failure) || errors.Is(err, node.ErrUnknown) {
		p.Errorf("%s: got %v, want a definite failure", a, err)
	}
}

// wantOpen performs an action and checks that its outcome is unknown.
func (p *pod) wantOpen(a node.Action) {
	p.Helper()
	var failure *node.Failure
	if _, err := p.try(a); !errors.Is(err, node.ErrUnknown) || errors.As(err, &failure) {
		p.Errorf("%s: got %v, want an open outcome", a, err)
	}
}
