// Package oom says which pods the kernel has killed processes of, for want of memory.
//
//	node.Kill ─▶ find    the pod and the container, by the words of the cgroup's path
//	          ─▶ Events  what happened, in an event of the pod, one of the node, or both
//
// A kill at a limit of the pod itself is the pod's own affair. If the machine is out of memory, or all pods together are
// at their limit, the node says so too, in Kubernetes' words. Processes of other programs at limits of their own are not
// told: they do not concern the node.
//
// The status of a container does not depend on this. It ends with OOMKilled if the runtime says so.
//
// Start reading at Watch.Events.
package oom
