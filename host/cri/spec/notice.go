package spec

// Notice is a warning to a pod's owner. It keeps the pod from nothing.
type Notice struct{ Reason, Message string }

// Reasons of notices, as Kubernetes names them.
const (
	reasonDNSLimits    = "DNSConfigForming"
	reasonNoClusterDNS = "MissingClusterDNS"

	reasonSignalIgnored = "StopSignalIgnored" // ours: Kubernetes has none
)
