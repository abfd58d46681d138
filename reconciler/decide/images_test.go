package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestImages(t *testing.T) {
	const app, setup = "ensure image app:1 for app attempt=0 policy=IfNotPresent", "ensure image setup:1 for setup attempt=0 policy=IfNotPresent"
	pullAlways := func(s *scene) { s.slot.Pod.Object.Spec.Containers[0].ImagePullPolicy = corev1.PullAlways }
	testStep(t, images, []stepCase{
		{"every image is made ready at once", pod(always, initially("setup"), also("side"), ready),
			setup + "; " + app + "; ensure image side:1 for side attempt=0 policy=IfNotPresent"},
		{"an image that is there is not asked for", pod(always, ready, pulled), ""},
		{"another image is", pod(always, ready, pulled, newImage), "ensure image app:2 for app attempt=0 policy=IfNotPresent"},
		{"an image that could not be pulled rests", pod(always, ready, fault("image/app", 10)), "wake in 10s; why Broken"},
		{"while a sandbox rests, images do not", pod(always, fault("sandbox", 10)), app},
		{"a pod that needs no sandbox needs no image", pod(never, gone, exited("app", 0)), ""},
		{"a running container needs none", pod(always, ready, running("app")), ""},
		{"a created container needs none", pod(always, ready, created("app")), ""},
		{"a run that ended needs none until its restart is counted", pod(always, ready, exited("app", 1)), ""},
		{"a restart that is counted does", pod(always, ready, exited("app", 1), tally("app", 1, 1)),
			"ensure image app:1 for app attempt=1 policy=IfNotPresent"},
		{"an init container that has succeeded needs none", pod(always, initially("setup"), ready, exited("setup", 0)), app},
		{"init containers that are past need none", pod(always, initially("setup"), ready, running("app")), ""},
		{"init containers need theirs again in a new sandbox", pod(always, initially("setup"), gone, exited("setup", 0), ready, tally("setup", 1, 0)),
			"ensure image setup:1 for setup attempt=1 policy=IfNotPresent; " + app},
		{"a pod that could not begin pulls nothing", pod(never, initially("setup"), ready, exited("setup", 1)), ""},
		{"with Always each attempt asks the registry anew", pod(always, pullAlways, ready, exited("app", 1), tally("app", 1, 1), pulled),
			"ensure image app:1 for app attempt=1 policy=Always"},
		{"with Always one answer serves its attempt", pod(always, pullAlways, ready, pulled), ""},
	})
}

func TestImagesAreMadeReadyBesideTheSandbox(t *testing.T) {
	testPod(t, []stepCase{
		{"both are begun at once", pod(always), "run sandbox attempt=0; ensure image app:1 for app attempt=0 policy=IfNotPresent"},
		{"a pull outlasts its sandbox", pod(always, ready, busy(node.EnsureImage{Container: "app"})),
			"ensure image app:1 for app attempt=0 policy=IfNotPresent"}, // the caller leaves out what is busy
	})
}
