package cri

import (
	"time"

	"nodal/node"
)

// notice is a warning to a pod's owner.
type notice struct{ reason, message string }

func (r *Runtime) warn(pod *node.Pod, n notice) {
	r.config.Event(node.Event{
		Time: time.Now(), Key: pod.Key(), UID: pod.UID(), Warning: true, Reason: n.reason, Message: n.message,
	})
}

// Reasons of notices, as Kubernetes names them.
const (
	reasonDNSLimits    = "DNSConfigForming"
	reasonNoClusterDNS = "MissingClusterDNS"

	reasonSignalIgnored = "StopSignalIgnored" // ours: Kubernetes has none
)
