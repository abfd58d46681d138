package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

const gpu corev1.ResourceName = "example.com/gpu"

// withDevice gives a container a device of its own.
func withDevice(name string) option {
	return func(s *scene) {
		if s.slot.Pod.Shares == nil {
			s.slot.Pod.Shares = node.Shares{}
		}
		s.slot.Pod.Shares[name] = node.Share{Devices: map[corev1.ResourceName][]string{gpu: {"a"}}}
	}
}

// granted has the plugin of a container's device have answered, for a sandbox.
func granted(name, sandbox string, preStart ...corev1.ResourceName) option {
	return func(s *scene) {
		s.slot.Pod.Grants = node.Grants{name: {Sandbox: sandbox, PreStart: preStart}}
	}
}

func readied(name string, attempt uint32) option {
	return func(s *scene) { s.got.Readied = map[string]uint32{name: attempt} }
}

func TestDevicesAreReadyBeforeAContainerIsMade(t *testing.T) {
	const (
		create = "create app attempt=0 in s0"
		first  = "make the devices of container app ready for attempt 0 in sandbox s0"
	)
	of := func(options ...option) *scene {
		return pod(always, append([]option{ready, pulled}, options...)...)
	}
	testStep(t, containers, []stepCase{
		{"a container without devices", of(), create},
		{"nothing is ready", of(withDevice("app")), first},
		{"another container has devices", of(withDevice("other")), create},
		{"its plugin has answered", of(withDevice("app"), granted("app", "s0")), create},
		{"its plugin has answered for another sandbox", of(withDevice("app"), granted("app", "s9")), first},
		{"its plugin wants to hear of each start", of(withDevice("app"), granted("app", "s0", gpu)), first},
		{"and has heard of this one", of(withDevice("app"), granted("app", "s0", gpu), readied("app", 0)), create},
		{"and has heard of another one", of(withDevice("app"), granted("app", "s0", gpu), readied("app", 7)), first},
		{"its plugin has failed just now", of(withDevice("app"), fault("devices/app", 5)), "wake in 5s; why Broken"},
		{"its plugin has failed a while ago", of(withDevice("app"), fault("devices/app", -1)), first},
		{"it runs, and no plugin has answered", of(withDevice("app"), running("app")), ""},
		{"it starts again", of(withDevice("app"), granted("app", "s0"), exited("app", 0), tally("app", 1, 0)), "create app attempt=1 in s0"},
		{"it starts again, which its plugin wants to hear", of(withDevice("app"), granted("app", "s0", gpu), readied("app", 0), exited("app", 0), tally("app", 1, 0)),
			"make the devices of container app ready for attempt 1 in sandbox s0"},
	})
}
