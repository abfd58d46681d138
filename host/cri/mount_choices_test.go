package cri_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/host/cri/spec"
	"nodal/node"
	sim "nodal/sim/cri"
)

// What a pod leaves open of its mounts is decided before they are made.
func TestMountsAreChosen(t *testing.T) {
	enabled, possible := corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible
	for _, c := range []struct {
		name    string
		mount   corev1.VolumeMount
		legacy  bool // a runtime that announces nothing
		subPath string
		deep    bool
		failure string
	}{
		{"variables stand for parts of a path", corev1.VolumeMount{SubPathExpr: "$(POD)/logs/$$(X)"}, false, "web/logs/$(X)", false, ""},
		{"a variable that is not there", corev1.VolumeMount{SubPathExpr: "a/$(NONE)"}, false, "", false, "there is no variable NONE"},
		{"a variable that leads up", corev1.VolumeMount{SubPathExpr: "a/$(UP)"}, false, "", false, "no path below the volume"},
		{"a variable that leads elsewhere", corev1.VolumeMount{SubPathExpr: "$(ELSEWHERE)"}, false, "", false, "no path below the volume"},
		{"read-only as deep as it goes", corev1.VolumeMount{ReadOnly: true, RecursiveReadOnly: &enabled}, false, "", true, ""},
		{"that is refused where the runtime cannot", corev1.VolumeMount{ReadOnly: true, RecursiveReadOnly: &enabled}, true, "", false, "requested recursive read-only mode, but it is not supported by the runtime"},
		{"if it is possible, it is", corev1.VolumeMount{ReadOnly: true, RecursiveReadOnly: &possible}, false, "", true, ""},
		{"if it is not, it is not", corev1.VolumeMount{ReadOnly: true, RecursiveReadOnly: &possible}, true, "", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []corev1.VolumeMount
			config := testConfig(t)
			config.Extras = []spec.Contributor{func(run spec.Run) (spec.Extras, error) {
				got = run.Container.VolumeMounts
				return spec.Extras{}, nil
			}}
			onSimWith(t, sim.Config{Legacy: c.legacy}, config, func(f *fixture, _ *sim.Server) {
				container := &f.pod.Object.Spec.Containers[0]
				container.Env = []corev1.EnvVar{{Name: "POD", Value: "web"}, {Name: "UP", Value: "../.."}, {Name: "ELSEWHERE", Value: "/etc"}}
				container.VolumeMounts = []corev1.VolumeMount{c.mount}
				f.pull(testImage)
				sandbox := f.do(node.RunSandbox{}).ID
				err := f.try(node.CreateContainer{Container: "main", SandboxID: sandbox, ImageID: testImage})
				if c.failure != "" {
					f.wantFailure(err, "CreateContainerConfigError")
					if !strings.Contains(err.Error(), c.failure) {
						t.Errorf("got %v, want %q", err, c.failure)
					}
					return
				}
				if err != nil || len(got) != 1 {
					t.Fatalf("got %v, %v", got, err)
				}
				if deep := got[0].RecursiveReadOnly != nil; got[0].SubPath != c.subPath || deep != c.deep {
					t.Errorf("the mount is of %q and recursive: %t; want %q, %t", got[0].SubPath, deep, c.subPath, c.deep)
				}
				if container.VolumeMounts[0].SubPath != "" {
					t.Error("the pod itself was changed")
				}
			})
		})
	}
}
