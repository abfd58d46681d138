package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// mounting gives the pod volumes, each mounted by its application container.
func mounting(volumes ...corev1.Volume) option {
	return func(s *scene) {
		spec := &s.slot.Pod.Object.Spec
		spec.Volumes = append(spec.Volumes, volumes...)
		for _, v := range volumes {
			spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
		}
	}
}

func scratch(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

func config(name, object string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: object},
	}}}
}

func info(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{}}}
}

// trusting is made from all that a signer has.
func trusting(name, signer string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{SignerName: &signer}}},
	}}}
}

func imaged(name string, policy corev1.PullPolicy) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "data:1", PullPolicy: policy}}}
}

// posted is a ConfigMap as it is since a revision.
func posted(object string, revision int64) option {
	return func(s *scene) {
		s.objects = map[node.ObjectRef]int64{{Kind: node.ConfigMap, Namespace: "default", Name: object}: revision}
	}
}

// laid is a volume of a version.
func laid(name, version string) option {
	return func(s *scene) { s.got.Lay(node.Volumes, name, node.Part{Version: version}) }
}

func TestVolumes(t *testing.T) {
	unused := func(s *scene) { s.slot.Pod.Object.Spec.Volumes = []corev1.Volume{scratch("spare")} }
	labelled := func(s *scene) { s.slot.Pod.Object.Labels = map[string]string{"v": "2"} }
	testStep(t, volumes, []stepCase{
		{"each is laid out", pod(always, ready, mounting(scratch("a"), scratch("b"))), "set up volume a; set up volume b"},
		{"one that nobody mounts is not", pod(always, ready, unused), ""},
		{"one that is there is left alone", pod(always, ready, mounting(scratch("a")), laid("a", "")), ""},
		{"the version tells what it is made from", pod(always, ready, mounting(config("a", "settings")), posted("settings", 7)), "set up volume a settings@7"},
		{"and what is missing for it", pod(always, ready, mounting(config("a", "settings"))), "set up volume a settings@0"},
		{"one that is up to date is left alone", pod(always, ready, mounting(config("a", "settings")), posted("settings", 7), laid("a", "settings@7")), ""},
		{"a change brings it up to date", pod(always, ready, running("app"), mounting(config("a", "settings")), posted("settings", 8), laid("a", "settings@7")),
			"set up volume a settings@8"},
		{"the pod's own labels are what it may be made from", pod(always, ready, mounting(info("a"))), "set up volume a pod@b57d700c"},
		{"and change it", pod(always, ready, running("app"), mounting(info("a")), labelled, laid("a", "pod@b57d700c")), "set up volume a pod@8b11bd25"},
		{"so does what its containers may use", pod(always, cpu("200m"), ready, running("app"), mounting(info("a")), laid("a", "pod@b57d700c")),
			"set up volume a pod@ca3fb300"},
		{"once the node has given it", pod(always, cpu("300m"), waits("200m"), ready, running("app"), mounting(info("a")), laid("a", "pod@ca3fb300")), ""},
		{"what a signer has counts as one", pod(always, ready, mounting(trusting("a", "example.com/ca"))), "set up volume a example.com/ca@0"},
		{"an image is made ready", pod(always, ready, mounting(imaged("a", corev1.PullAlways))), "ensure image data:1 for volume a policy=Always"},
		{"once", pod(always, ready, mounting(imaged("a", corev1.PullAlways)), laid("a", "")), ""},
		{"nobody asks a registry for what runs already", pod(always, ready, running("app"), mounting(imaged("a", corev1.PullAlways))),
			"ensure image data:1 for volume a policy=IfNotPresent"},
		{"one that failed rests", pod(always, ready, mounting(scratch("a")), fault("volume/a", 4)), "wake in 4s; why Broken"},
		{"a pod that needs no sandbox needs no volumes", pod(never, gone, exited("app", 0), mounting(scratch("a"))), ""},
		{"nor does one that could not begin", pod(never, initially("setup"), ready, exited("setup", 1), mounting(scratch("a"))), ""},
	})
}

func TestContainersWaitForVolumes(t *testing.T) {
	testPod(t, []stepCase{
		{"volumes are laid out beside the sandbox and the images", pod(always, mounting(scratch("a"))),
			"run sandbox attempt=0; set up volume a; ensure image app:1 for app attempt=0 policy=IfNotPresent"},
		{"no container is made before", pod(always, ready, pulled, mounting(scratch("a"))), "set up volume a"},
		{"not even one that does not mount it", pod(always, initially("setup"), ready, mounting(scratch("a")), pulled, fault("volume/a", 4)),
			"wake in 4s; why Broken"},
		{"it is made then", pod(always, ready, pulled, mounting(scratch("a")), laid("a", "")), "create app attempt=0 in s0"},
		{"it waits for a change that is under way", pod(always, ready, pulled, mounting(config("a", "m")), posted("m", 2), laid("a", "m@1")), "set up volume a m@2"},
		{"but not for one that fails", pod(always, ready, pulled, mounting(config("a", "m")), laid("a", "m@1"), fault("volume/a", 4)),
			"create app attempt=0 in s0; wake in 4s; why Broken"},
		{"what was created before is started", pod(always, ready, created("app"), mounting(scratch("a")), fault("volume/a", 4)),
			"start app app-0; wake in 4s; why Broken"},
	})
}

func TestALateContainerGivesWayToOneThatRuns(t *testing.T) {
	testPod(t, []stepCase{{"it is removed", pod(always, ready, running("app"), created("app")), "remove app app-1"}})
}
