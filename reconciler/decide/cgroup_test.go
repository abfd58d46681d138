package decide

import (
	"testing"

	"nodal/node"
	"nodal/node/limit"
)

// grouped is a node whose pods have cgroups of their own.
func grouped(s *scene) { s.site.Cgroups, s.site.Limits.Pids = true, 10 }

// bound is a pod whose cgroup has some limits.
func bound(l limit.Limits) option {
	return func(s *scene) { s.got.Lay(node.Cgroup, "", node.Part{Limits: l}) }
}

// without is a pod of which a facility was torn down.
func without(f node.Facility) option { return func(s *scene) { s.got.Laid[f] = node.Laid{Gone: true} } }

func TestCgroup(t *testing.T) {
	least := limit.Limits{CPUShares: 2, Pids: 10}
	testStep(t, cgroup, []stepCase{
		{"it is made", pod(always, grouped), "set up cgroup shares=2 pids=10"},
		{"one that is there is left alone", pod(always, grouped, bound(least)), ""},
		{"an agent that starts sets its limits again", pod(always, grouped, ready, running("app")), "set up cgroup shares=2 pids=10"},
		{"other limits are set", pod(always, grouped, ready, running("app"), bound(limit.Limits{CPUShares: 5})), "set up cgroup shares=2 pids=10"},
		{"a failure rests", pod(always, grouped, fault("cgroup", 4)), "wake in 4s; why Broken"},
		{"a pod that needs no sandbox needs none", pod(never, grouped, gone, exited("app", 0)), ""},
		{"nor does one where pods have none", pod(always), ""},
	})
	testPod(t, []stepCase{
		{"nothing runs before, but images and volumes are made ready", pod(always, grouped, mounting(scratch("a"))),
			"set up cgroup shares=2 pids=10; set up volume a; ensure image app:1 for app attempt=0 policy=IfNotPresent"},
		{"the sandbox follows", pod(always, grouped, pulled, bound(least)), "run sandbox attempt=0"},
		{"a failure to make it keeps no image from being pulled", pod(always, grouped, fault("cgroup", 4)),
			"ensure image app:1 for app attempt=0 policy=IfNotPresent; wake in 4s; why Broken"},
		{"it goes when nothing is left in it", pod(always, grouped, bound(least), deleted(1, 0)), "tear down cgroup"},
		{"not before", pod(always, grouped, ready, bound(least), deleted(1, 0)), "stop sandbox s0"},
		{"volumes go after it", pod(always, grouped, without(node.Cgroup), deleted(1, 0)), "tear down volumes"},
		{"a finished pod keeps none", pod(never, grouped, finished, gone, exited("app", 0), bound(least)), "tear down cgroup; why the pod has finished"},
		{"nor its volumes", pod(never, grouped, finished, gone, exited("app", 0), without(node.Cgroup)), "tear down volumes; why the pod has finished"},
		{"then it rests", pod(never, grouped, finished, gone, exited("app", 0), without(node.Cgroup), without(node.Volumes)), "why the pod has finished"},
	})
}
