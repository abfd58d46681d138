package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nodal/node"
	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/daemon"
)

// preflight has kubeadm look at this machine with a kubelet and a socket of a runtime, and returns what it found.
func preflight(t *testing.T, kubelet, socket string) string {
	t.Helper()
	dir, parts := t.TempDir(), "../../.cache/parts"
	must(t, os.Symlink(kubelet, filepath.Join(dir, "kubelet")))
	config := filepath.Join(dir, "kubeadm.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
nodeRegistration: {name: node-a, criSocket: "unix://%s"}
localAPIEndpoint: {advertiseAddress: 192.0.2.1}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: %s
`, socket, node.KubernetesVersion), 0o600))
	kubeadm, err := filepath.Abs(filepath.Join(parts, "kubeadm"))
	must(t, err)
	// The machine of the test need not suit kubeadm, so errors are to be warnings. A dry run pulls no images.
	command := exec.CommandContext(t.Context(), kubeadm, "init", "phase", "preflight", "--config", config, "--ignore-preflight-errors=all", "--dry-run")
	command.Env = append(os.Environ(), "PATH="+dir+":/usr/sbin:/usr/bin:/sbin:/bin")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v; test/cluster/parts/peer.sh builds kubeadm\n%s", err, out)
	}
	return string(out)
}

func TestKubeadmFindsThisKubeletAndItsRuntime(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"kubeadm's preflight reads this kubelet's version, and finds the built-in runtime at cri.sock beside the node's socket",
	)
	n := daemon.StartAlone(t)
	kubelet, err := agent.Build(t.TempDir())
	must(t, err)
	faults := []string{"KubeletVersion", "kubelet version", "WARNING CRI]", "WARNING ContainerRuntimeVersion]"}
	found := preflight(t, kubelet, filepath.Join(filepath.Dir(n.Socket), "cri.sock"))
	for _, fault := range faults {
		if strings.Contains(found, fault) {
			t.Errorf("kubeadm has found %q:\n%s", fault, found)
		}
	}
	// Without this the test would pass if kubeadm did not look.
	other := filepath.Join(t.TempDir(), "kubelet")
	must(t, os.WriteFile(other, []byte("#!/bin/sh\necho Nodal\n"), 0o755))
	found = preflight(t, other, filepath.Join(t.TempDir(), "no.sock"))
	for _, fault := range faults[:3] {
		if !strings.Contains(found, fault) {
			t.Errorf("of another kubelet, and without a runtime, kubeadm has not found %q:\n%s", fault, found)
		}
	}
}
