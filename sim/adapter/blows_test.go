package adapter

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubelettypes "k8s.io/kubelet/pkg/types"

	"nodal/sim/cri"
)

// blows lists the misfortunes that may strike a node. Each run has some of them.
func (r *run) blows() []func() {
	blows := []func(){func() {}}
	for _, blow := range []func(){
		func() { r.crash("") }, r.exitOne, r.exitOne, r.killSandbox, r.outage, r.unplug, r.prune, r.steal,
	} {
		if r.rand.IntN(2) == 0 {
			blows = append(blows, blow)
		}
	}
	return blows
}

// exitOne ends a container as if its program had exited.
func (r *run) exitOne() {
	if c, ok := r.pick(cri.Container.Running); ok {
		r.witness.trace.addf("container %s of %s ends by itself", c.Name, c.Pod)
		r.witness.check(r.server.Kill(c.ID, int32(r.rand.IntN(2))))
	}
}

// pick returns a random container of the clients' pods that satisfies fits.
func (r *run) pick(fits func(cri.Container) bool) (cri.Container, bool) {
	fitting := slices.DeleteFunc(r.server.Snapshot().Containers, func(c cri.Container) bool {
		return strange(c.Pod) || !fits(c)
	})
	if len(fitting) == 0 {
		return cri.Container{}, false
	}
	return fitting[r.rand.IntN(len(fitting))], true
}

// steal removes an ended container, as an operator may do by hand.
func (r *run) steal() {
	c, ok := r.pick(func(c cri.Container) bool { return !c.Running() })
	if !ok {
		return
	}
	r.witness.trace.addf("container %s of %s is stolen", c.Name, c.Pod)
	if l := r.witness.lives[types.UID(c.Pod.UID)]; l != nil {
		l.robbed = true
	}
	_, err := r.server.RemoveContainer(r.t.Context(), &runtimeapi.RemoveContainerRequest{ContainerId: c.ID})
	r.witness.check(err)
}

// prune removes all images.
func (r *run) prune() {
	for _, ref := range r.server.Snapshot().Images {
		image := &runtimeapi.ImageSpec{Image: ref}
		_, err := r.server.RemoveImage(r.t.Context(), &runtimeapi.RemoveImageRequest{Image: image})
		r.witness.check(err)
	}
}

// unplug takes the runtime's network away, or gives it back.
func (r *run) unplug() {
	r.unplugged = !r.unplugged
	r.server.SetReady(true, !r.unplugged)
}

// killSandbox ends the process of a random sandbox.
func (r *run) killSandbox() {
	for _, b := range r.server.Snapshot().Sandboxes {
		if b.Ready && !strange(b.Pod) && r.rand.IntN(2) == 0 {
			r.witness.trace.addf("the sandbox of %s dies", b.Pod)
			r.witness.check(r.server.KillSandbox(b.ID))
			return
		}
	}
}

// outage ends the runtime's process. Containers run on.
func (r *run) outage() {
	if !r.back.IsZero() {
		return
	}
	r.witness.trace.addf("the runtime is down")
	r.server.Crash()
	r.back = time.Now().Add(between(r.rand, 10*time.Millisecond, 15*time.Second))
}

// deaths decides which commits kill the agent.
type deaths struct {
	mu   sync.Mutex
	rand *rand.Rand
	rate float64
}

func (d *deaths) strike(a *agent) moment {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.asked.Load() || d.rand.Float64() >= d.rate {
		return notNow
	}
	return beforeDurable + moment(d.rand.IntN(2))
}

func (d *deaths) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rate = 0
}

// The UIDs of pods that no client asks for.
const (
	strayUID   = "stray"   // made by a kubelet, without a record
	foreignUID = "foreign" // made by something else than a kubelet
)

func strange(pod cri.Pod) bool { return pod.UID == strayUID || pod.UID == foreignUID }

// addStrangers creates pods in the runtime that no client asks for.
func (r *run) addStrangers() {
	r.addStranger(foreignUID, "web", nil)
	if r.rand.IntN(2) == 0 {
		name := []string{"web", "stray"}[r.rand.IntN(2)]
		r.addStranger(strayUID, name, map[string]string{
			kubelettypes.KubernetesPodNameLabel: name, kubelettypes.KubernetesPodNamespaceLabel: "default",
			kubelettypes.KubernetesPodUIDLabel: strayUID, kubelettypes.KubernetesContainerNameLabel: "a",
		})
	}
}

func (r *run) addStranger(uid, name string, labels map[string]string) {
	ctx := r.t.Context()
	image := &runtimeapi.ImageSpec{Image: "stranger:1"}
	config := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: uid}, Labels: labels,
	}
	_, err := r.server.PullImage(ctx, &runtimeapi.PullImageRequest{Image: image})
	r.witness.check(err)
	box, err := r.server.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: config})
	r.witness.check(err)
	made, err := r.server.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{
		PodSandboxId: box.GetPodSandboxId(), SandboxConfig: config,
		Config: &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: "a"}, Image: image, Labels: labels, Command: []string{"run"},
		},
	})
	r.witness.check(err)
	_, err = r.server.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: made.GetContainerId()})
	r.witness.check(err)
	r.witness.skip()
}
