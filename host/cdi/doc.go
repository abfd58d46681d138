// Package cdi offers devices of the machine for which there are specs of the Container Device Interface, but no device
// plugin: nvidia-ctk and others write such specs, and container runtimes read them.
//
//	specs (*.json, *.yaml) ── a look at each change ──▶ board: which devices there are
//	reconciler ── Allocate ──▶ CDI names, which the runtime looks up when it makes a container
//
// The board (node/store.Devices) is that of device plugins, so all that follows is the same for both: capacity,
// assignment, health. A share is a device of the board. A device with four shares is there four times, and goes to four
// containers.
//
// Only names, kinds and device files of the specs are read here. What a container gets is up to the runtime.
//
// Start reading at Specs in specs.go.
package cdi
