package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/agent"
	"nodal/test/chance"
	"nodal/test/daemon"
	"nodal/test/pace"
	"nodal/test/rig"
)

const (
	pods    = 30
	posters = 3
)

func TestMain(m *testing.M) { os.Exit(agent.Main(m)) }

func TestChaosAgent(t *testing.T) {
	play(t, func(c *chaos) {
		c.d.Kill()
		c.pause(50 * time.Millisecond)
		c.d.Launch()
	})
}

func TestChaosRuntime(t *testing.T) {
	play(t, func(c *chaos) {
		must(c.t, c.rt.Kill())
		c.pause(200 * time.Millisecond)
		must(c.t, c.rt.Start())
		c.dropTornRecords()
	})
}

// chaos is a node under attack.
type chaos struct {
	t       *testing.T
	rt      *rig.Runtime
	d       *daemon.Daemon
	witness *witness
	rand    *rand.Rand // only the test's own goroutine draws, so that a seed replays
}

// play strikes while pods start, and in some rounds again while they end.
func play(t *testing.T, strike func(*chaos)) {
	seed := chance.Number(t, "NODAL_CHAOS_SEED", int(time.Now().UnixNano()&0xffffff))
	t.Logf("NODAL_CHAOS_SEED=%d", seed)
	rt := rig.Containerd(t)
	c := &chaos{t: t, rt: rt, d: daemon.Start(t, rt), witness: listen(t), rand: rand.New(rand.NewPCG(uint64(seed), 0))}
	for i := range chance.Number(t, "NODAL_CHAOS_ROUNDS", chance.Few(2, 4)) {
		names := podNames(i)
		c.bringUp(names, strike)
		if t.Failed() {
			t.Fatalf("round %d failed", i)
		}
		c.takeDown(names, strike)
	}
}

// bringUp strikes while pods start, and checks the result.
func (c *chaos) bringUp(names []string, strike func(*chaos)) {
	c.t.Helper()
	r := newRound()
	posted := c.post(names)
	for range 1 + c.rand.IntN(3) {
		c.pause(1500 * time.Millisecond)
		c.lookBefore(r)
		began := time.Now()
		strike(c)
		r.strikes = append(r.strikes, span{began, time.Now()})
	}
	r.accepted = <-posted
	c.check(r, c.d.Await("all accepted pods are ready", func(p daemon.Pods) bool { return p.Ready(names...) }))
}

// takeDown deletes the pods and waits until the runtime has nothing of them.
func (c *chaos) takeDown(names []string, strike func(*chaos)) {
	c.t.Helper()
	for _, name := range names {
		c.d.Delete(name)
	}
	if c.rand.IntN(3) == 0 {
		c.pause(500 * time.Millisecond)
		strike(c)
	}
	c.awaitEmpty(names)
	c.d.Await("all pods are gone", func(p daemon.Pods) bool { return p.Gone(names...) })
}

// podNames returns names of one length, so that none is a prefix of another.
func podNames(round int) []string {
	names := make([]string, pods)
	for i := range names {
		names[i] = fmt.Sprintf("r%d-p%02d", round, i)
	}
	return names
}

// post applies the pods from a few goroutines, and delivers the UIDs that were acknowledged, by pod
// name.
func (c *chaos) post(names []string) <-chan map[string]string {
	ctx, cancel := context.WithTimeout(c.t.Context(), pace.Of(daemon.Patience))
	manifests := nodev1.NewManifestsServiceClient(c.d.Conn())
	todo := make(chan string, len(names))
	for _, name := range names {
		todo <- name
	}
	close(todo)
	accepted := map[string]string{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for range posters {
		group.Go(func() {
			for name := range todo {
				uid := c.apply(ctx, manifests, name)
				mu.Lock()
				accepted[name] = uid
				mu.Unlock()
			}
		})
	}
	posted := make(chan map[string]string, 1)
	go func() {
		defer cancel()
		group.Wait()
		posted <- accepted
	}()
	return posted
}

// apply repeats until the pod is acknowledged: applying a manifest again changes nothing.
func (c *chaos) apply(ctx context.Context, manifests nodev1.ManifestsServiceClient, name string) (uid string) {
	for {
		response, err := manifests.Apply(ctx, &nodev1.ApplyRequest{Manifest: c.manifest(name)})
		if err == nil {
			return response.GetOutcomes()[0].GetUid()
		}
		if ctx.Err() != nil {
			c.t.Errorf("%s is not accepted: %v", name, err)
			return ""
		}
		wait(ctx, 20*time.Millisecond)
	}
}

func (c *chaos) manifest(name string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: %q, args: [sh, -c, %q]}]`, name, c.rt.Image("busybox"), c.witness.script(name))
}

func (c *chaos) pause(most time.Duration) { chance.Pause(c.t.Context(), c.rand, most) }

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
