package action_test

import (
	"log/slog"
	"testing"
	"time"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"

	"nodal/host/cri"
	"nodal/host/image"
	"nodal/node"
	sim "nodal/sim/cri"
	"nodal/test/conformance"
	"nodal/test/conformance/action"
)

const testImage = "registry.example/app:1"

var calls = cri.Config{RequestTimeout: 30 * time.Second}

func TestAdapterOnTheSimulatedRuntime(t *testing.T) {
	for name, legacy := range map[string]bool{"containerd 2": false, "containerd 1.6": true} {
		t.Run(name, func(t *testing.T) {
			server := sim.NewServer(sim.Config{Images: []sim.Image{{Ref: testImage}}, Legacy: legacy})
			conn := conformance.Connect(t, server, cri.DialOptions(calls)...)
			action.Run(t, runtimeOf(conn, configOf(t), testImage, map[action.Program][]string{
				action.Forever: {"run"}, action.IgnoreTerm: {"ignore-term"}, action.Fails: {"exit", "1", "after", "100ms"},
				action.Missing: {"no-start"},
			}))
		})
	}
}

func configOf(t *testing.T) cri.PodConfig {
	return cri.PodConfig{LogsDir: t.TempDir()}
}

// runtimeOf returns the adapter over a connection, in real time.
func runtimeOf(
	conn grpc.ClientConnInterface, config cri.PodConfig, ref string, programs map[action.Program][]string,
) action.Runtime {
	adapter, log := cri.New(conn, conn, calls), slog.New(slog.DiscardHandler)
	return action.Runtime{
		Runtime: cri.NewPods(adapter, cri.NewHealth(adapter), config, log),
		Images:  image.New(image.Config{Runtime: cri.NewImages(adapter), Tell: func(node.Event) {}, Log: log}),
		Run:     func(c *corev1.Container, p action.Program) { c.Image, c.Command = ref, programs[p] },
		Now:     time.Now,
		Pass:    time.Sleep,
	}
}
