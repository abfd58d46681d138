// Command containerd-shim-runc-v2 is upstream's shim: the process that holds a
// pod's containers, so that containerd and the agent may come and go.
//
// It does itself what upstream's starts runc for and what needs no runc: it
// holds the namespaces of most pods (sandbox.go), and lets containers begin
// (begin.go).
package main

import (
	"context"

	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/manager"
	_ "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/task/plugin"
	"github.com/containerd/containerd/v2/pkg/shim"
	"github.com/containerd/containerd/v2/plugins"
	"github.com/containerd/go-runc"
	"github.com/containerd/plugin"
	"github.com/containerd/plugin/registry"
)

func main() {
	registry.Register(&plugin.Registration{
		Type: "nodal.shim.v1", ID: "front",
		// The task service sets the monitor, so it comes first.
		Requires: []plugin.Type{plugins.TTRPCPlugin},
		InitFn: func(*plugin.InitContext) (any, error) {
			runc.Monitor = newFront(runc.Monitor)
			return runc.Monitor, nil
		},
	})
	runc.Monitor = newFront(runc.Monitor) // for the shim that clears up behind a dead one
	shim.RunShim(context.Background(), manager.NewShimManager("io.containerd.runc.v2"))
}
