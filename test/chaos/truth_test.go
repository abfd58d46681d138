package chaos

import (
	"slices"
	"strings"
	"time"

	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubelettypes "k8s.io/kubelet/pkg/types"

	"nodal/test/daemon"
)

// stuck is how long the agent has to empty the runtime before the runtime is
// looked at for a task that it has lost.
const stuck = 20 * time.Second

// see adds the containers that run now, by pod name.
func (c *chaos) see(seen map[string]string) {
	c.t.Helper()
	for _, run := range c.containers() {
		if run.GetState() == runtimev1.ContainerState_CONTAINER_RUNNING {
			seen[podName(run.GetLabels())] = run.GetId()
		}
	}
}

// check compares the runtime's truth with what was accepted, what was seen
// running before a strike and what the agent shows.
func (c *chaos) check(accepted, seen map[string]string, shown daemon.Pods) {
	c.t.Helper()
	runs, sandboxes := map[string][]*runtimev1.Container{}, map[string]int{}
	for _, run := range c.containers() {
		name := podName(run.GetLabels())
		c.expectUID(name, run.GetLabels(), accepted)
		if run.GetState() == runtimev1.ContainerState_CONTAINER_RUNNING {
			runs[name] = append(runs[name], run)
		} else {
			c.expectNeverRan(name, run)
		}
	}
	for _, sandbox := range c.sandboxes() {
		name := podName(sandbox.GetLabels())
		c.expectUID(name, sandbox.GetLabels(), accepted)
		if sandbox.GetState() == runtimev1.PodSandboxState_SANDBOX_READY {
			sandboxes[name]++
		}
	}
	for name := range accepted {
		if len(runs[name]) != 1 || sandboxes[name] != 1 {
			c.fault(name, "%d containers run in %d sandboxes, want one in one", len(runs[name]), sandboxes[name])
			continue
		}
		run := runs[name][0]
		if was, ok := seen[name]; ok && was != run.GetId() {
			c.fault(name, "ran as %s before a strike and runs as %s now", was, run.GetId())
		}
		if got, want := shown[name].GetRestarts(), int32(run.GetMetadata().GetAttempt()); got != want {
			c.fault(name, "shows %d restarts, the runtime has attempt %d", got, want)
		}
	}
}

func (c *chaos) expectUID(name string, labels, accepted map[string]string) {
	c.t.Helper()
	if got, want := labels[kubelettypes.KubernetesPodUIDLabel], accepted[name]; got != want {
		c.fault(name, "the runtime has uid %q, accepted was %q", got, want)
	}
}

// expectNeverRan allows only attempts whose start was interrupted.
func (c *chaos) expectNeverRan(name string, run *runtimev1.Container) {
	c.t.Helper()
	reply, err := c.rt.CRI().ContainerStatus(c.t.Context(), &runtimev1.ContainerStatusRequest{ContainerId: run.GetId()})
	must(c.t, err)
	if status := reply.GetStatus(); status.GetStartedAt() != 0 {
		c.fault(name, "attempt %d ran and ended: %s %s", run.GetMetadata().GetAttempt(), status.GetReason(), status.GetMessage())
	}
}

// awaitEmpty waits until nothing is left in the runtime.
//
// A start whose client vanishes at the wrong moment makes containerd forget a
// task that it has created (containerd/containerd#11037). It then refuses to
// remove the container until it is restarted, whoever asks. So that, and
// nothing else, is answered by a restart.
func (c *chaos) awaitEmpty() {
	c.t.Helper()
	if c.empties(stuck) {
		return
	}
	for _, run := range c.containers() {
		if !c.lost(run) {
			c.fault(podName(run.GetLabels()), "container %s is left, %s", run.GetId(), run.GetState())
		}
	}
	if c.t.Failed() || len(c.containers()) == 0 {
		c.t.Fatalf("%d sandboxes are left", len(c.sandboxes()))
	}
	c.t.Logf("containerd has lost tasks and is restarted")
	must(c.t, c.rt.Kill())
	must(c.t, c.rt.Start())
	if !c.empties(daemon.Patience) {
		c.t.Fatalf("%d sandboxes and %d containers are left after a restart of the runtime", len(c.sandboxes()), len(c.containers()))
	}
}

// lost says whether the runtime refuses to remove a container whose start failed.
func (c *chaos) lost(run *runtimev1.Container) bool {
	_, err := c.rt.CRI().RemoveContainer(c.t.Context(), &runtimev1.RemoveContainerRequest{ContainerId: run.GetId()})
	return run.GetState() == runtimev1.ContainerState_CONTAINER_EXITED && err != nil && strings.Contains(err.Error(), "cannot delete running task")
}

func (c *chaos) empties(within time.Duration) bool {
	c.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(within); time.Now().Before(deadline); <-tick.C {
		if len(c.sandboxes()) == 0 && len(c.containers()) == 0 {
			return true
		}
	}
	return false
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

// fault fails the test with the pod's story.
func (c *chaos) fault(name, format string, args ...any) {
	c.t.Helper()
	c.t.Errorf(name+": "+format, args...)
	body, _ := c.d.Curl("/v1/namespaces/default/pods/" + name + "/timeline")
	c.t.Log(strings.Join(slices.Collect(strings.SplitAfterSeq(body, "},")), "\n"))
}

func podName(labels map[string]string) string { return labels[kubelettypes.KubernetesPodNameLabel] }
