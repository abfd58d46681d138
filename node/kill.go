package node

// Kill is one process that the kernel has ended for want of memory.
type Kill struct {
	Process string // its name, of which the kernel keeps 15 bytes
	PID     int
	Cgroup  string // of the process, as the kernel writes it; empty if it is not known
	Limited string // the cgroup whose limit was reached; empty if it is not known, or if it was the machine's memory
	Limit   int64  // of that cgroup, in bytes; zero if it is not known
	Machine bool   // the machine itself was out of memory
}

// Reasons of events on kills. The second is Kubernetes' own.
const (
	OOMKilled = "OOMKilled"
	SystemOOM = "SystemOOM"
)
