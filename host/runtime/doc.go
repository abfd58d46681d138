// Package runtime runs the node's own container runtime: containerd with all it needs, as a child that outlives the
// agent.
//
//	Start ─▶ programs (unpacked bundle, or found on the host)
//	      ─▶ network (an interface: host/podnet, or a fake)
//	      ─▶ configuration (rendered, one file a digest)
//	      ─▶ containerd (adopted if it is the same one, else started)
//	      ─▶ answers on its socket: ready
//	Run   ─▶ starts it again when it ends, and has the network kept meanwhile
//	Stop  ─▶ ends it; shims and containers go on
//	Clean ─▶ the mirror of all: nothing of the node's runtime is left
//
// Two directories belong to it, and nothing outside of them. One is "runtime" below the node's root and survives a
// reboot. The other, the state directory, does not; its path is short because addresses of sockets go below it.
// Everything is named after the root directory (see ID), so that several nodes on one machine do not meet.
//
// # What is true
//
// The process table says whether containerd runs, not a file. Its command line names the program, whose directory is
// the bundle's digest, and the configuration, whose name has the configuration's digest. A containerd with the very
// command line that would be started now is adopted. Any other containerd on the node's directories is ended first. So
// a killed agent never leaves something that the next one would misread.
//
// The digests in the bundle's index say whether an unpacked file is whole. They are compared before every start of
// containerd, so unpacking needs neither a marker of success nor an fsync: a file that a kill, a full disk or a power
// cut has left is noticed and unpacked again.
//
// # Life of the child
//
// containerd has a session of its own and writes its log to a file, so the agent's death does not reach it. It stays in
// the agent's cgroup: under systemd the agent's unit needs KillMode=process.
//
// Start reading at runtime.go; clean.go undoes it.
package runtime
