// Package users sets aside users and groups of the host for pods that do not share
// the host's own (hostUsers: false). In such a pod ids begin at 0; on the host they
// are those of the pod's Range, which no other pod has, and no program should.
//
//	in the pod   0 ─────────── 65535
//	on the host  131072 ── 196607     its Range, one of a Pool
//
// A range is part of what the node keeps of a pod, so that a restart changes nothing.
//
// Start reading at Pool.Free.
package users
