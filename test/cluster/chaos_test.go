package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubelettypes "k8s.io/kubelet/pkg/types"

	"nodal/test/chance"
	"nodal/test/claim"
	"nodal/test/daemon"
	controlplane "nodal/test/plane"
	"nodal/test/rig"
)

// A round of `make chaos` has 30 pods. The number of rounds is configurable.
const (
	fewRounds, fewPods = 3, 8
	manyPods           = 30
)

func TestChaosOfACluster(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"apisync, the agent and the API server are killed in turn while pods come and go: no pod is lost, doubled or stuck, and none leaves the cluster while a container of it runs",
	)
	seed := chance.Number(t, "NODAL_CHAOS_SEED", int(time.Now().UnixNano()&0xffffff))
	t.Logf("NODAL_CHAOS_SEED=%d", seed)
	rounds, pods := chance.Number(t, "NODAL_CHAOS_ROUNDS", chance.Few(2, fewRounds)), fewPods
	if rounds > fewRounds {
		pods = manyPods
	}
	rt := rig.Containerd(t)
	p := startPlane(t)
	c := &chaos{world: &world{plane: p, node: daemon.Start(t, rt)}, rt: rt, rand: rand.New(rand.NewPCG(uint64(seed), 0)), seen: map[string]bool{}}
	c.sync = start(t, apisync, "--kubeconfig", p.kubeconfig(controlplane.Node), "--socket", c.node.Socket, "--kubelet-port", fmt.Sprint(c.node.Port))
	stay := map[string]run{}
	for i := range rounds {
		stay = c.round(i, pods, stay)
		if t.Failed() {
			t.Fatalf("round %d failed", i)
		}
	}
	for name := range stay {
		c.insist("DELETE", podsPath+"/"+name, "")
	}
	c.eventually("no pod", func() bool {
		known := c.known()
		return known != nil && len(known) == 0 && len(c.running()) == 0
	})
}

// chaos is a cluster under attack.
type chaos struct {
	*world
	rt   *rig.Runtime
	rand *rand.Rand // only the test's own goroutine draws, so that a seed replays

	mu   sync.Mutex
	seen map[string]bool // UIDs that the API server has shown
}

// round starts pods, deletes those of the round before, and strikes meanwhile. It returns the run
// of each new pod. Half of the pods stay untouched until the next round.
func (c *chaos) round(i, pods int, before map[string]run) map[string]run {
	c.t.Helper()
	names, doomed := make([]string, pods), []string{}
	for n := range names {
		names[n] = fmt.Sprintf("r%d-p%02d", i, n)
	}
	for n, name := range slices.Sorted(maps.Keys(before)) {
		if n%2 == 0 {
			doomed = append(doomed, name)
		}
	}
	ctx, cancel := context.WithCancel(c.t.Context())
	var side sync.WaitGroup
	defer side.Wait() // it must not log after the test has ended
	defer cancel()
	side.Go(func() { c.guard(ctx) })
	var work sync.WaitGroup
	for _, share := range slices.Collect(slices.Chunk(names, (pods+2)/3)) {
		work.Go(func() {
			for _, name := range share {
				c.insist("POST", podsPath, manifest(name, sleeper))
			}
		})
	}
	work.Go(func() {
		for _, name := range doomed {
			c.insist("DELETE", podsPath+"/"+name, "")
		}
	})
	c.pause(1500 * time.Millisecond)
	c.strike(i % 3)
	work.Wait()
	runs := map[string]run{}
	for _, name := range names {
		runs[name] = runOf(c.await(name, "ready", ready))
	}
	for _, name := range doomed {
		c.awaitGone(name)
		delete(before, name)
	}
	cancel()
	side.Wait()
	running := c.running()
	for name, healthy := range before {
		if now := runOf(c.await(name, "ready", ready)); now != healthy {
			c.t.Errorf("%s was healthy in %+v and is now in %+v", name, healthy, now)
		}
		if _, ok := running[healthy.container]; !ok { // the API server may not know of this start yet
			c.t.Errorf("%s was healthy in %s, which does not run any more", name, healthy.container)
		}
		c.insist("DELETE", podsPath+"/"+name, "")
	}
	for name := range before {
		c.awaitGone(name)
	}
	c.eventually("a runtime with the round's containers alone", func() bool {
		running := c.running()
		for _, run := range runs {
			if _, ok := running[run.container]; !ok {
				return false
			}
		}
		return len(running) == len(runs)
	})
	return runs
}

// run is the run of a pod's container. An earlier start that a strike interrupted counts as a
// restart.
type run struct {
	container string
	restarts  int32
}

func runOf(pod *corev1.Pod) run {
	s := pod.Status.ContainerStatuses[0]
	return run{s.ContainerID, s.RestartCount}
}

// strike kills the agent, containerd or the API server, and starts it again.
func (c *chaos) strike(which int) {
	switch which {
	case 0:
		c.sync.end()
		c.pause(time.Second)
		c.sync.begin()
	case 1:
		c.node.Kill()
		c.pause(500 * time.Millisecond)
		c.node.Launch()
	case 2:
		c.apiserver.end()
		c.pause(time.Second)
		c.apiserver.begin()
	}
}

// guard checks, until the context ends, that no forbidden state occurs.
func (c *chaos) guard(ctx context.Context) {
	for ctx.Err() == nil {
		if known := c.known(); known != nil {
			c.check(known)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// check compares the running containers with the pods that the API server knew before.
func (c *chaos) check(known map[string]bool) {
	times := map[string]int{}
	for _, uid := range c.running() {
		if times[uid]++; times[uid] > 1 {
			c.t.Errorf("two containers of pod %s run", uid)
		}
		if c.wasSeen(uid) && !known[uid] {
			c.t.Errorf("pod %s was dropped from the cluster, and its container runs", uid)
		}
	}
}

func (c *chaos) wasSeen(uid string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[uid]
}

// known returns the UIDs of the API server's pods; nil if it does not answer.
func (c *chaos) known() map[string]bool {
	code, text := c.try("GET", podsPath, "", nil)
	var list corev1.PodList
	if code != http.StatusOK || json.Unmarshal(text, &list) != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := map[string]bool{}
	for _, p := range list.Items {
		known[string(p.UID)], c.seen[string(p.UID)] = true, true
	}
	return known
}

// running returns the running containers, as statuses name them, each with its pod's UID.
func (c *chaos) running() map[string]string {
	reply, err := c.rt.CRI().ListContainers(context.Background(), &runtimev1.ListContainersRequest{
		Filter: &runtimev1.ContainerFilter{State: &runtimev1.ContainerStateValue{State: runtimev1.ContainerState_CONTAINER_RUNNING}},
	})
	if err != nil {
		c.t.Errorf("ask the runtime what runs: %v", err)
	}
	uids := map[string]string{}
	for _, container := range reply.GetContainers() {
		uids["containerd://"+container.GetId()] = container.GetLabels()[kubelettypes.KubernetesPodUIDLabel]
	}
	return uids
}

// insist repeats a request until the API server answers. It accepts a conflict with its own earlier
// try, whose answer was lost.
func (c *chaos) insist(method, path, body string) {
	c.eventually(method+" "+path, func() bool {
		code, _ := c.try(method, path, "application/yaml", []byte(body))
		return code >= 200 && code < 300 || code == http.StatusConflict || code == http.StatusNotFound
	})
}

func (c *chaos) pause(most time.Duration) { chance.Pause(c.t.Context(), c.rand, most) }
