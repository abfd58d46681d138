// Package dra asks the drivers of devices that ResourceClaims allocate (dynamic resource allocation, DRA) to prepare
// claims for pods and to take them back. Drivers register as plugins of type DRAPlugin, in the registry of host/plugin.
//
//	board of plugins ──▶ which drivers are registered, and where
//	reconciler ── Prepare, Unprepare ──▶ driver ──▶ which CDI devices a container gets
//
// When a driver is asked is decided by the reconciler, and what it has answered is part of the record of a pod. Nothing is
// kept here except which claims are busy: two pods that share a claim ask one after the other.
//
// Drivers are not trusted. Each call has a deadline and each message a bound, and an answer that no driver of Kubernetes
// gives fails. A driver that hangs holds up the pods that use its claims, and no other.
//
// Start reading at Drivers in drivers.go.
package dra
