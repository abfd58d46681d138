package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/process"
)

// driven has a volume of a CSI driver, inlined one that goes with the pod, and owning one with a claim that does.
var (
	driven  = holding("driven", "driven")
	inlined = keeping("inlined", "csi: {driver: "+diskDriver+", volumeAttributes: {color: blue}}")
	owning  = keeping("owning", "ephemeral: {volumeClaimTemplate: {spec: {storageClassName: \"\", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}")
)

// imaged has an image as a volume.
var imaged = keeping("imaged", "image: {reference: \"nodal.test/busybox:1\"}")

// keeping returns a pod with a volume at /disk.
func keeping(name, source string) string {
	return manifest(name, "  volumes: [{name: disk, "+source+"}]\n"+strings.ReplaceAll(sleeper, "sleep 1000\"]}", "sleep 1000\"], volumeMounts: [{name: disk, mountPath: /disk}]}"))
}

// drive starts a CSI driver where kubelets with a root directory look for one.
func drive(t *testing.T, root, state string) {
	t.Helper()
	registry := filepath.Join(root, "plugins_registry")
	must(t, os.MkdirAll(registry, 0o755))
	path, err := agent.CSIDriver(state)
	must(t, err)
	p := &process.Process{Path: path, Log: filepath.Join(state, "log"), Args: []string{
		"--registry", registry, "--state", state, "--socket", filepath.Join(state, "csi.sock"), "--able", "STAGE_UNSTAGE_VOLUME",
	}}
	t.Cleanup(p.Kill)
	must(t, p.Start())
}

const boundPath = "/api/v1/namespaces/default/persistentvolumeclaims"

// volume makes the driver's object, and a volume that need not be attached with a claim that is bound to it.
func (s *swap) volume() {
	s.t.Helper()
	s.create(driversPath, driverObject("attachRequired: false, volumeLifecycleModes: [Persistent, Ephemeral]"))
	s.disk("driven", "")
	s.bind("driven")
}

// own makes the volume of a pod's own claim as a cluster's controllers would.
func (s *swap) own(pod string) {
	s.t.Helper()
	claim := pod + "-disk"
	s.disk(claim, "")
	s.ask("PATCH", boundPath+"/"+claim, "application/merge-patch+json", fmt.Sprintf(
		`{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": %q, "uid": %q, "controller": true}]}}`, pod, s.pod(pod).UID))
	s.bind(claim)
}

// bind has a claim bound to its volume.
func (s *swap) bind(name string) {
	s.t.Helper()
	claim, _ := get[corev1.PersistentVolumeClaim](s.plane, boundPath+"/"+name)
	s.ask("PATCH", "/api/v1/persistentvolumes/pv-"+name, "application/merge-patch+json", fmt.Sprintf(`{"spec": {"claimRef": {"uid": %q}}}`, claim.UID))
	s.ask("PATCH", boundPath+"/"+name+"/status", "application/merge-patch+json", `{"status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}}`)
}
