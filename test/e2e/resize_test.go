package e2e

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
)

// sized returns a pod with CPU and memory. Another amount of memory takes a restart. A volume shows
// it its CPU.
func sized(name, cpu, memory string) string {
	return adding(shell(name, "exec sleep 1000"),
		"resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}, {resourceName: memory, restartPolicy: RestartContainer}]",
		fmt.Sprintf("resources: {requests: {cpu: %s, memory: %s}, limits: {cpu: %s, memory: %s}}", cpu, memory, cpu, memory),
		"volumeMounts: [{name: me, mountPath: /me}]",
	) + "  volumes: [{name: me, downwardAPI: {items: [" +
		"{path: labels, fieldRef: {fieldPath: metadata.labels}}, " +
		"{path: cpu, resourceFieldRef: {containerName: main, resource: limits.cpu, divisor: 1m}}]}}]\n"
}

// has waits until the kernel holds a pod, and its container, to this much CPU and memory.
func (n *node) has(pod string, quota, memory string) {
	n.t.Helper()
	n.eventually(fmt.Sprintf("%s held to %s and %s", pod, quota, memory), func() bool {
		for _, c := range n.containers(pod) {
			if !c.running {
				continue
			}
			pid := n.pid(c.id)
			for above := range 2 {
				max, _, _ := strings.Cut(n.cgroupFile(pid, above, "cpu cpu.cfs_quota_us", "cpu.max"), " ")
				if max != quota || n.cgroupFile(pid, above, "memory memory.limit_in_bytes", "memory.max") != memory {
					return false
				}
			}
			return true
		}
		return false
	})
}

func TestResourcesChangeInPlace(t *testing.T) {
	claim.Shows(t, "Resources",
		"the CPU of a running container changes without a restart, with the pod's: it grows before and shrinks after",
		"a resource whose resize policy says RestartContainer changes with a restart of that container alone, and plan says so",
		"a resize that does not fit now is deferred until another pod goes; one that never fits is infeasible; the pod runs on with its old resources",
		"after a kill of the agent, running containers have the limits of the manifest",
		"downwardAPI volumes show a container's actual resources, not those that a resize waits for",
		"the CPU of an init container changes without a restart while it runs",
		"pod-level resources change without a restart, also for containers without limits of their own")
	n := start(t)
	whole := func(cpu, memory string) string {
		return strings.Replace(shell("whole", "exec sleep 1000").yaml(), "spec:\n",
			fmt.Sprintf("spec:\n  resources: {requests: {cpu: 100m, memory: 32Mi}, limits: {cpu: %s, memory: %s}}\n", cpu, memory), 1)
	}
	n.apply(whole("200m", "32Mi"))
	n.waitRunning("whole")
	n.has("whole", "20000", "33554432")
	n.changed("/v1/manifests", whole("400m", "64Mi")).is(t, "UPDATED", "")
	n.has("whole", "40000", "67108864")
	n.changed("/v1/manifests", whole("100m", "48Mi")).is(t, "UPDATED", "")
	n.has("whole", "10000", "50331648")
	all := n.wait("whole", "it has the resources", func(p *corev1.Pod) bool {
		return p.Status.Resources != nil && p.Status.Resources.Limits.Cpu().MilliValue() == 100
	})
	if s := containerStatus(all, "main"); s.RestartCount != 0 {
		t.Errorf("it has restarted %d times, want none", s.RestartCount)
	}
	n.deletePod("whole", "")

	preparing := func(cpu string) string {
		return strings.Replace(adding(shell("preparing", "exec sleep 1000"), "resources: {limits: {cpu: 50m, memory: 16Mi}}"), "spec:\n",
			"spec:\n  initContainers:\n  - {name: first, image: \"nodal.test/busybox:1\", command: [sh, -c, \"until [ -e /go ]; do sleep 0.1; done\"], "+
				"resources: {limits: {cpu: "+cpu+", memory: 32Mi}}}\n", 1)
	}
	n.apply(preparing("200m"))
	n.has("preparing", "20000", "33554432")
	n.changed("/v1/manifests", preparing("100m")).is(t, "UPDATED", "")
	n.has("preparing", "10000", "33554432")
	n.inside("preparing", "first", "touch /go")
	if first := n.waitRunning("preparing").Status.InitContainerStatuses[0]; first.RestartCount != 0 || first.Resources.Limits.Cpu().MilliValue() != 100 {
		t.Errorf("the init container has restarted %d times and has %s of CPU, want none and 100m", first.RestartCount, first.Resources.Limits.Cpu())
	}
	n.deletePod("preparing", "")

	n.apply(sized("web", "200m", "32Mi"))
	n.waitRunning("web")
	n.has("web", "20000", "33554432")
	first := n.containers("web")[0].id

	n.changed("/v1/manifests", sized("web", "400m", "32Mi")).is(t, "UPDATED", "")
	n.has("web", "40000", "33554432")
	n.inside("web", "main", `until [ "$(cat /me/cpu)" = 400 ]; do usleep 10000; done`)
	n.changed("/v1/manifests", sized("web", "100m", "32Mi")).is(t, "UPDATED", "")
	n.has("web", "10000", "33554432")
	p := n.wait("web", "web resized", func(p *corev1.Pod) bool {
		s := containerStatus(p, "main")
		return s.Resources != nil && s.Resources.Limits.Cpu().MilliValue() == 100 && condition(p, corev1.PodResizeInProgress) != corev1.ConditionTrue
	})
	if s := containerStatus(p, "main"); s.RestartCount != 0 || s.AllocatedResources.Cpu().MilliValue() != 100 || n.containers("web")[0].id != first {
		t.Errorf("it has restarted %d times and is allocated %s of CPU, want none and 100m", s.RestartCount, s.AllocatedResources.Cpu())
	}

	n.Kill()
	n.up()
	n.changed("/v1/manifests", sized("web", "150m", "32Mi")).is(t, "UPDATED", "")
	n.has("web", "15000", "33554432")
	if got := n.containers("web"); len(got) != 1 || got[0].id != first {
		t.Errorf("the containers are %v, want %s alone", got, first)
	}

	n.changed("/v1/manifests:plan", sized("web", "150m", "48Mi")).is(t, "UPDATED", "main")
	n.changed("/v1/manifests", sized("web", "150m", "48Mi")).is(t, "UPDATED", "main")
	p = n.wait("web", "web restarted", func(p *corev1.Pod) bool { return ready(p) && containerStatus(p, "main").RestartCount > 0 })
	if s := containerStatus(p, "main"); s.RestartCount != 1 {
		t.Errorf("it has restarted %d times, want once", s.RestartCount)
	}
	n.has("web", "15000", "50331648")

	most := runtime.NumCPU() * 1000
	n.apply(adding(shell("rival", "exec sleep 1000"), fmt.Sprintf("resources: {requests: {cpu: %dm}}", most-200)))
	n.waitRunning("rival")
	n.apply(sized("web", fmt.Sprintf("%dm", most+1), "48Mi"))
	n.pending("web", corev1.PodReasonInfeasible, fmt.Sprintf("capacity: %d", most))
	n.apply(sized("web", "300m", "48Mi"))
	n.pending("web", corev1.PodReasonDeferred, "requested: 300")
	n.apply(strings.Replace(sized("web", "300m", "48Mi"), "name: web\n", "name: web\n  labels: {new: label}\n", 1))
	if got := n.inside("web", "main", `until [ "$(cat /me/labels)" = 'new="label"' ]; do usleep 10000; done; cat /me/cpu`); got != "150" {
		t.Errorf("while it waits its volume shows %sm of CPU, want 150m", got)
	}
	n.has("web", "15000", "50331648")
	n.deletePod("rival", "")
	n.has("web", "30000", "50331648")
	n.inside("web", "main", `until [ "$(cat /me/cpu)" = 300 ]; do usleep 10000; done`)
	n.wait("web", "web resized", func(p *corev1.Pod) bool { return condition(p, corev1.PodResizePending) == "" })
}

// pending waits until a pod's status says that its resize waits.
func (n *node) pending(name, reason, message string) {
	n.t.Helper()
	n.wait(name, name+" "+reason, func(p *corev1.Pod) bool {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodResizePending {
				return c.Reason == reason && strings.Contains(c.Message, message)
			}
		}
		return false
	})
}
