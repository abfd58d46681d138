// Package self sets what the kernel grants the agent's own process: how late it is killed for want of memory, and how many
// files it may open. Both need rights that a container may lack, so each error says what holds instead.
//
// Start reading at OOMScore in self.go.
package self
