package chaos

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubelettypes "k8s.io/kubelet/pkg/types"

	"nodal/test/daemon"
	"nodal/test/pace"
)

// settling is the time that the agent has to clear the runtime.
var settling = pace.Of(time.Minute)

// round holds the pods of one round.
type round struct {
	accepted map[string]string                                // the UID of each accepted pod
	attempts map[string]map[string]*runtimev1.ContainerStatus // the attempts of each container of a pod
	before   map[string]string                                // the container of each pod that ran before a strike
	strikes  []span
}

func newRound() *round {
	return &round{attempts: map[string]map[string]*runtimev1.ContainerStatus{}, before: map[string]string{}}
}

// look records the containers that exist. It keeps ended ones that the agent has since removed.
func (c *chaos) look(r *round) {
	c.t.Helper()
	for _, known := range r.attempts {
		maps.DeleteFunc(known, func(_ string, a *runtimev1.ContainerStatus) bool {
			return a.GetState() != runtimev1.ContainerState_CONTAINER_EXITED
		})
	}
	for _, container := range c.containers() {
		reply, err := c.rt.CRI().ContainerStatus(c.t.Context(), &runtimev1.ContainerStatusRequest{ContainerId: container.GetId()})
		if status.Code(err) == codes.NotFound {
			continue // it has been removed since
		}
		must(c.t, err)
		pod := podName(container.GetLabels())
		if r.attempts[pod] == nil {
			r.attempts[pod] = map[string]*runtimev1.ContainerStatus{}
		}
		r.attempts[pod][container.GetId()] = reply.GetStatus()
	}
}

// lookBefore records the runs before a strike.
func (c *chaos) lookBefore(r *round) {
	c.t.Helper()
	c.look(r)
	for pod, attempts := range r.attempts {
		for id, a := range attempts {
			if a.GetState() == runtimev1.ContainerState_CONTAINER_RUNNING && r.before[pod] == "" {
				r.before[pod] = id
			}
		}
	}
}

// check judges each pod by all evidence.
func (c *chaos) check(r *round, shown daemon.Pods) {
	c.t.Helper()
	names := slices.Sorted(maps.Keys(r.accepted))
	c.witness.await(names, 1, settling) // a run reports itself a little after its start
	sandboxes := c.awaitOneSandboxEach()
	c.look(r)
	cuts, begun := 0, 0
	for _, name := range names {
		e := evidence{
			uid: r.accepted[name], sandboxes: sandboxes[name], runs: c.witness.of(name), strikes: r.strikes, before: r.before[name],
			attempts: slices.SortedFunc(maps.Values(r.attempts[name]), func(a, b *runtimev1.ContainerStatus) int {
				return cmp.Compare(a.GetMetadata().GetAttempt(), b.GetMetadata().GetAttempt())
			}),
			restarts: shown[name].GetRestarts(),
		}
		cuts, begun = cuts+e.cuts(), begun+len(e.runs)-1
		if faults := e.faults(); len(faults) > 0 {
			c.t.Errorf("%s: %s\n%s\nthe agent says of it\n%s", name, strings.Join(faults, "; "), e, c.d.LogOf(name))
		}
	}
	c.t.Logf("%d of %d pods were accepted, %d starts were cut, %d of them after the program began", len(names), pods, cuts, begun)
}

// awaitOneSandboxEach waits until the agent has removed the sandboxes whose start was interrupted,
// and returns the others by pod.
func (c *chaos) awaitOneSandboxEach() map[string][]*runtimev1.PodSandbox {
	c.t.Helper()
	var byPod map[string][]*runtimev1.PodSandbox
	c.eventually(func() bool {
		byPod = map[string][]*runtimev1.PodSandbox{}
		crowded := false
		for _, s := range c.sandboxes() {
			name := podName(s.GetLabels())
			byPod[name] = append(byPod[name], s)
			crowded = crowded || len(byPod[name]) > 1
		}
		return !crowded
	})
	return byPod
}

// awaitEmpty waits until neither the runtime nor the programs have anything left.
func (c *chaos) awaitEmpty(names []string) {
	c.t.Helper()
	if !c.eventually(func() bool { return len(c.sandboxes()) == 0 && len(c.containers()) == 0 }) {
		c.tellWhatIsLeft()
	}
	if !c.witness.await(names, 0, settling) {
		for _, name := range names {
			if runs := c.witness.of(name); alive(runs) > 0 {
				c.t.Errorf("%s is gone but its programs live: %v", name, runs)
			}
		}
	}
}

// tellWhatIsLeft fails the test and lists what the runtime still has.
func (c *chaos) tellWhatIsLeft() {
	c.t.Helper()
	for _, s := range c.sandboxes() {
		name := podName(s.GetLabels())
		_, err := c.rt.CRI().RemovePodSandbox(c.t.Context(), &runtimev1.RemovePodSandboxRequest{PodSandboxId: s.GetId()})
		c.t.Errorf("%s: sandbox %s was left as %s; asked by the test to remove it, the runtime answers %v\nthe agent says of it\n%s",
			name, s.GetId(), s.GetState(), err, c.d.LogOf(name))
	}
	for _, container := range c.containers() {
		name := podName(container.GetLabels())
		c.t.Errorf("%s: container %s is left as %s\nthe agent says of it\n%s", name, container.GetId(), container.GetState(), c.d.LogOf(name))
	}
	c.t.FailNow()
}

// dropTornRecords removes records that the kill destroyed. The CNI library inside the runtime
// overwrites its record of a sandbox's network in place. If the runtime dies at that moment, the
// record is empty, and every stop of the sandbox fails until an operator removes it.
func (c *chaos) dropTornRecords() {
	c.t.Helper()
	for _, s := range c.sandboxes() {
		if s.GetState() == runtimev1.PodSandboxState_SANDBOX_READY {
			continue // this message came after the record was written in full
		}
		records, err := filepath.Glob("/var/lib/cni/results/*-" + s.GetId() + "-*")
		must(c.t, err)
		for _, record := range records {
			if data, err := os.ReadFile(record); err == nil && !json.Valid(data) {
				c.t.Logf("%s: the CNI record %s is torn", podName(s.GetLabels()), record)
				must(c.t, os.Remove(record))
			}
		}
	}
}

// eventually polls the runtime, which has no watch, until a condition holds, and reports whether it
// did.
func (c *chaos) eventually(holds func() bool) bool {
	c.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(settling); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

func (c *chaos) containers() []*runtimev1.Container {
	c.t.Helper()
	list, err := c.rt.CRI().ListContainers(c.t.Context(), &runtimev1.ListContainersRequest{})
	must(c.t, err)
	return list.GetContainers()
}

func (c *chaos) sandboxes() []*runtimev1.PodSandbox {
	c.t.Helper()
	list, err := c.rt.CRI().ListPodSandbox(c.t.Context(), &runtimev1.ListPodSandboxRequest{})
	must(c.t, err)
	return list.GetItems()
}

func podName(labels map[string]string) string { return labels[kubelettypes.KubernetesPodNameLabel] }
