package chaos

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/daemon"
	"nodal/test/rig"
)

const (
	pods   = 30
	rounds = 10
)

func TestChaosAgent(t *testing.T) {
	play(t, func(c *chaos) {
		c.d.Kill()
		c.pause(50 * time.Millisecond)
		c.d.Launch()
	})
}

func TestChaosRuntime(t *testing.T) {
	play(t, func(c *chaos) {
		if err := c.rt.Kill(); err != nil {
			t.Fatal(err)
		}
		c.pause(200 * time.Millisecond)
		if err := c.rt.Start(); err != nil {
			t.Fatal(err)
		}
	})
}

// chaos is a node that is being treated badly.
type chaos struct {
	t    *testing.T
	rt   *rig.Runtime
	d    *daemon.Daemon
	rand *rand.Rand

	mu       sync.Mutex
	accepted map[string]string // uid by name, as acknowledged
}

// play posts pods and strikes at random moments meanwhile, round after round.
func play(t *testing.T, strike func(*chaos)) {
	seed := number(t, "NODAL_CHAOS_SEED", int(time.Now().UnixNano()&0xffffff))
	t.Logf("NODAL_CHAOS_SEED=%d", seed)
	rt := rig.Containerd(t)
	c := &chaos{t: t, rt: rt, d: daemon.Start(t, rt), rand: rand.New(rand.NewPCG(uint64(seed), 0))}
	for round := range number(t, "NODAL_CHAOS_ROUNDS", rounds) {
		c.accepted = map[string]string{}
		posted := c.post(round)
		before := map[string]string{}
		for range 1 + c.rand.IntN(2) {
			c.pause(2 * time.Second)
			before = c.running()
			strike(c)
		}
		<-posted
		c.d.AwaitHealthy()
		names := slices.Sorted(maps.Keys(c.accepted))
		if len(names) != pods {
			t.Fatalf("round %d: %d pods were accepted, want %d", round, len(names), pods)
		}
		after := c.d.Await("all accepted pods are ready", func(p daemon.Pods) bool { return p.Ready(names...) })
		c.check(round, after, before)
		for _, name := range names {
			c.d.Delete(name)
		}
		if round%3 == 0 {
			c.pause(500 * time.Millisecond)
			strike(c)
			c.d.AwaitHealthy()
		}
		c.d.Await("all pods are gone", func(p daemon.Pods) bool { return p.Gone(names...) })
		c.checkEmpty(round)
		if t.Failed() {
			return
		}
	}
}

// post applies the pods one by one until each is acknowledged. Applying again
// what may have been taken already changes nothing.
func (c *chaos) post(round int) <-chan struct{} {
	done := make(chan struct{})
	manifests := nodev1.NewManifestsServiceClient(c.d.Conn())
	go func() {
		defer close(done)
		for i := range pods {
			name := fmt.Sprintf("r%d-p%d", round, i)
			for c.t.Context().Err() == nil {
				response, err := manifests.Apply(c.t.Context(), &nodev1.ApplyRequest{Manifest: c.manifest(name)})
				if err == nil {
					c.mu.Lock()
					c.accepted[name] = response.GetOutcomes()[0].GetUid()
					c.mu.Unlock()
					break
				}
				wait(c.t.Context(), 20*time.Millisecond)
			}
		}
	}()
	return done
}

func (c *chaos) manifest(name string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: %q, args: [pause]}]`, name, c.rt.Image("probe"))
}

// running are the pods' running containers, by pod name.
func (c *chaos) running() map[string]string {
	found := map[string]string{}
	for _, container := range c.containers() {
		if container.GetState() == runtimev1.ContainerState_CONTAINER_RUNNING {
			found[container.GetLabels()["io.kubernetes.pod.name"]] = container.GetId()
		}
	}
	return found
}

func (c *chaos) containers() []*runtimev1.Container {
	c.t.Helper()
	list, err := c.rt.CRI().ListContainers(c.t.Context(), &runtimev1.ListContainersRequest{})
	if err != nil {
		c.t.Fatalf("list containers: %v", err)
	}
	return list.GetContainers()
}

// check compares with the runtime's truth.
func (c *chaos) check(round int, shown daemon.Pods, before map[string]string) {
	c.t.Helper()
	instances := map[string][]string{}
	for _, container := range c.containers() {
		name := container.GetLabels()["io.kubernetes.pod.name"]
		if container.GetState() != runtimev1.ContainerState_CONTAINER_RUNNING || container.GetMetadata().GetAttempt() != 0 {
			c.t.Errorf("round %d: %s has a container %s, attempt %d, want one running, attempt 0", round, name, container.GetState(), container.GetMetadata().GetAttempt())
		}
		instances[name] = append(instances[name], container.GetId())
		if got, want := container.GetLabels()["io.kubernetes.pod.uid"], c.accepted[name]; got != want {
			c.t.Errorf("round %d: %s runs with uid %s, but %s was accepted", round, name, got, want)
		}
	}
	for name := range c.accepted {
		if len(instances[name]) != 1 {
			c.t.Errorf("round %d: %s has containers %v, want exactly one", round, name, instances[name])
		}
		if ran, ok := before[name]; ok && !slices.Contains(instances[name], ran) {
			c.t.Errorf("round %d: %s ran as %s before the strike, and now as %v", round, name, ran, instances[name])
		}
		if shown[name].GetRestarts() != 0 {
			c.t.Errorf("round %d: %s shows %d restarts", round, name, shown[name].GetRestarts())
		}
	}
	if c.t.Failed() {
		c.tellStories(instances)
	}
}

func (c *chaos) checkEmpty(round int) {
	c.t.Helper()
	list, err := c.rt.CRI().ListPodSandbox(c.t.Context(), &runtimev1.ListPodSandboxRequest{})
	if err != nil {
		c.t.Fatalf("list sandboxes: %v", err)
	}
	if n, m := len(list.GetItems()), len(c.containers()); n+m > 0 {
		c.t.Errorf("round %d: %d sandboxes and %d containers are left", round, n, m)
	}
}

// tellStories logs the timelines of the pods that have not exactly one container.
func (c *chaos) tellStories(instances map[string][]string) {
	for name := range c.accepted {
		if len(instances[name]) == 1 {
			continue
		}
		body, _ := c.d.Curl("/v1/namespaces/default/pods/" + name + "/timeline")
		c.t.Log(strings.ReplaceAll(body, `{"time"`, "\n  {\"time\""))
	}
}

// pause waits a random part of a time: the moment is what is tested.
func (c *chaos) pause(most time.Duration) {
	wait(c.t.Context(), time.Duration(c.rand.Int64N(int64(most))))
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func number(t *testing.T, variable string, otherwise int) int {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}
