package decide

import (
	"testing"

	"nodal/node"
)

// withClaim gives the pod a resource claim with devices of a driver. asked says what the driver was asked and has answered.
func withClaim(asked ...node.PreparedClaim) option {
	return func(s *scene) {
		s.site.Boot = "b1"
		c := node.DeviceClaim{Name: "gpu", Claim: "gpu", UID: "c1", Devices: []node.AllocatedDevice{{Driver: "driver"}}}
		for _, a := range asked {
			c.Drivers = map[string]node.PreparedClaim{"driver": a}
		}
		s.slot.Pod.Claims = []node.DeviceClaim{c}
	}
}

var (
	isPrepared  = withClaim(node.PreparedClaim{Done: true, Boot: "b1"})
	wasPrepared = withClaim(node.PreparedClaim{Done: true, Boot: "b0"})
	wasAsked    = withClaim(node.PreparedClaim{})
)

func TestClaimsArePreparedBeforeTheSandbox(t *testing.T) {
	const (
		prepare = "prepare the devices of resource claims; why waiting for the devices of its resource claims"
		run     = "run sandbox attempt=0"
	)
	testStep(t, sandbox, []stepCase{
		{"no driver was asked", pod(always, withClaim()), prepare},
		{"its driver has not answered", pod(always, wasAsked), prepare},
		{"its driver has answered", pod(always, isPrepared), run},
		{"its driver has answered before the machine was booted", pod(always, wasPrepared), prepare},
		{"its driver has failed just now", pod(always, withClaim(), fault("claims", 5)), "wake in 5s; why Broken"},
	})
	testStep(t, sandbox, []stepCase{
		{"another kubelet has made the sandbox", pod(always, ready, running("app"), withClaim()), prepare},
		{"it runs, and its driver has answered", pod(always, ready, running("app"), isPrepared), ""},
		{"a pod that has ended", pod(never, ready, exited("app", 0), withClaim()), ""},
	})
	testStep(t, containers, []stepCase{
		{"a sandbox is there, and no driver has answered", pod(always, ready, pulled, withClaim()), prepare},
		{"its driver has answered", pod(always, ready, pulled, isPrepared), "create app attempt=0 in s0"},
		{"it runs, and the driver's answer is lost", pod(always, ready, running("app"), withClaim()), ""},
	})
}

func TestClaimsAreUnpreparedAfterTheSandbox(t *testing.T) {
	const take = "unprepare the devices of resource claims; why waiting until the devices of its resource claims are taken back"
	testStep(t, unprepare, []stepCase{
		{"no driver was asked", pod(always, withClaim()), ""},
		{"its driver has answered", pod(always, isPrepared), take + "; done"},
		{"its driver was asked", pod(always, wasAsked), take + "; done"},
		{"its sandbox is there", pod(always, ready, isPrepared), "stop sandbox s0; done"},
		{"its driver has failed just now", pod(always, isPrepared, fault("claims", 5)), "wake in 5s; why Broken; done"},
	})
	testStep(t, settle, []stepCase{
		{"a pod that has ended", pod(never, isPrepared, exited("app", 0)), take},
		{"a pod that has ended in its sandbox", pod(never, ready, isPrepared, exited("app", 0)), "stop sandbox s0"},
		{"a pod that runs", pod(never, ready, isPrepared, running("app")), ""},
	})
}
