package sim

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/conformance/action"
)

func TestMachineIsARuntime(t *testing.T) {
	s := &schedule{}
	m := NewMachine(func() time.Time { return epoch.Add(s.now) })
	m.schedule = s
	images := map[action.Program]string{
		action.Forever: "sim/forever:1", action.IgnoreTerm: "sim/deaf:1", action.Fails: "sim/crash:1",
		action.Missing: "sim/broken:1",
	}
	action.Run(t, action.Runtime{
		Runtime: m, Images: m, Now: m.clock,
		Run: func(c *corev1.Container, p action.Program) { c.Image = images[p] },
		Pass: func(d time.Duration) {
			due := false
			for s.after(d, func() { due = true }); !due && s.step(); {
			}
		},
	})
}
