package conformance_test

import (
	"testing"

	"nodal/sim/cri"
	"nodal/test/conformance"
)

func TestSimulatedRuntime(t *testing.T) {
	for name, legacy := range map[string]bool{"containerd 2": false, "containerd 1.6": true} {
		t.Run(name, func(t *testing.T) {
			const image = "registry.example/app:1"
			server := cri.NewServer(cri.Config{
				Images: []cri.Image{{Ref: image}}, Legacy: legacy, WriteLogs: true,
			})
			conformance.Run(t, conformance.Runtime{
				Conn:   conformance.Connect(t, server),
				Image:  image,
				LogDir: t.TempDir(),
				Programs: conformance.Programs{
					Run:        []string{"log", "ready", "run"},
					SlowTerm:   []string{"log", "ready", "slow-term", "500ms"},
					IgnoreTerm: []string{"log", "ready", "ignore-term"},
					Exit3:      []string{"exit", "3"},
					Hello:      []string{"log", "hello", "err", "oops", "exit", "0"},
					Missing:    []string{"no-start"},
				},
			})
		})
	}
}
