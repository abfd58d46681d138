package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/process"
)

// driven has a volume of a CSI driver.
var driven = holding("driven", "driven")

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

// volume makes a volume of the driver, which need not be attached, and a claim that is bound to it.
func (s *swap) volume() {
	s.t.Helper()
	const claims = "/api/v1/namespaces/default/persistentvolumeclaims"
	s.create(driversPath, driverObject("attachRequired: false"))
	s.disk("driven", "")
	claim, _ := get[corev1.PersistentVolumeClaim](s.plane, claims+"/driven")
	s.ask("PATCH", "/api/v1/persistentvolumes/pv-driven", "application/merge-patch+json", fmt.Sprintf(`{"spec": {"claimRef": {"uid": %q}}}`, claim.UID))
	s.ask("PATCH", claims+"/driven/status", "application/merge-patch+json", `{"status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}}`)
}
