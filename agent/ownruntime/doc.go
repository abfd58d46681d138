// Package ownruntime runs the container runtime that the agent brings along.
//
//	                  +-- registry on loopback <-- images that were imported, and the pause image
//	agent --> Runtime +
//	                  +-- containerd (host/runtime) <-- pulls from that registry
//	                          +-- pod network (host/podnet)
//
// It puts host/runtime, host/podnet and host/registry together, which do not know each other. To everything above,
// the runtime is one more CRI endpoint. It outlives the agent, and the next agent adopts it.
//
// Start reading at Start in ownruntime.go.
package ownruntime
