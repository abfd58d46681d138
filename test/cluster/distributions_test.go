package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/claim"
	controlplane "nodal/test/plane"
)

// distributions holds configurations as distributions write them, in our own words.
const distributions = "../../agent/config/testdata/distributions"

// ofTheMachine are settings that would change this machine, or other programs on it.
var ofTheMachine = []string{
	"cgroupRoot", "containerRuntimeEndpoint", // the test's own
	"kubeletCgroups", "systemCgroups", // they move processes of the machine
	"protectKernelDefaults", // the kernel's settings are the machine's
	"port",                  // tests run side by side
}

func TestANodeJoinsAsK3sConfiguresIt(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"a node joins with the drop-in and the flags that k3s writes: its serving certificate from files, its static pods, no address until the cloud's controller has said one",
		"a node of a cluster takes pods alone from files: the node says so of a ConfigMap there, and does not have it",
	)
	p := startPlane(t)
	dir := t.TempDir()
	p.servingPair(filepath.Join(dir, "serving-kubelet"))
	settings := adapted(t, "k3s.d/00-k3s-defaults.conf", "/var/lib/rancher/k3s/agent/client-ca.crt", p.ClientCA(),
		"/var/lib/rancher/k3s/agent", dir, "cgroupDriver: systemd", "cgroupDriver: cgroupfs")
	must(t, os.Mkdir(filepath.Join(dir, "pod-manifests"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "pod-manifests", "static.yaml"), []byte(ownManifest("static")), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "pod-manifests", "settings.yaml"), []byte(ownSettings), 0o600))
	drop := filepath.Join(dir, "kubelet.conf.d")
	must(t, os.Mkdir(drop, 0o755))
	text, err := yaml.Marshal(settings)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(drop, "00-k3s-defaults.conf"), text, 0o600))
	ip := machineAddress(t)
	w := &world{plane: p, node: startWith(t, nil, "--config-dir", drop, "--kubeconfig", p.kubeconfig(controlplane.Node),
		"--cert-dir", filepath.Join(dir, "pki"), "--cloud-provider=external", "--containerd=/run/k3s/containerd/containerd.sock",
		"--node-labels=", "--runtime-cgroups=/k3s", "--address", "0.0.0.0")}
	w.eventually("a node that is ready, and waits for its cloud", func() bool {
		n, ok := get[corev1.Node](w.plane, nodePath)
		return ok && nodeReady(n) && tainted(n)
	})
	w.initialize("k3s://node-a", []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: ip}, {Type: corev1.NodeHostName, Address: "node-a"}})
	w.await("static-node-a", "mirrored", ready)
	w.serves("containerd")
	w.refusesFile("settings.yaml")
}

// refusesFile checks that an object of a file is refused in words, and that the node has none of its kind from there.
func (w *world) refusesFile(name string) {
	w.t.Helper()
	w.eventually("the node to say that it refuses "+name, func() bool {
		shown, err := nodev1.NewNodeServiceClient(w.node.Conn()).GetNode(w.t.Context(), &nodev1.GetNodeRequest{})
		must(w.t, err)
		said := shown.String()
		return strings.Contains(said, name) && strings.Contains(said, "a node of a cluster takes pods alone from files")
	})
	if got := w.shelf(); strings.Contains(got, "own-settings") {
		w.t.Errorf("the node has %s, want nothing of %s", got, name)
	}
}

func TestANodeJoinsAsTalosConfiguresIt(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a cluster",
		"a node joins with the file and the flags that Talos writes: with a bootstrap token, static pods from a URL on loopback, and a log in JSON",
	)
	p := startPlane(t, "--enable-bootstrap-token-auth")
	p.takeTokens()
	must(t, p.StartControllers())
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var pod map[string]any
		if err := yaml.Unmarshal([]byte(ownManifest("static")), &pod); err != nil {
			t.Error(err)
		}
		text, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "PodList", "items": []any{pod}})
		if err != nil {
			t.Error(err)
		}
		w.Write(text)
	}))
	t.Cleanup(files.Close)
	dir := t.TempDir()
	manifests := filepath.Join(dir, "manifests")
	must(t, os.Mkdir(manifests, 0o755))
	settings := adapted(t, "talos.yaml", "/etc/kubernetes/pki/ca.crt", p.ClientCA(), "/etc/kubernetes/manifests", manifests,
		"http://127.0.0.1:41234", files.URL, "/system/resolved/resolv.conf", "/etc/resolv.conf")
	bootstrap := filepath.Join(dir, "bootstrap-kubeconfig")
	p.writeKubeconfig(bootstrap, p.bootstrapToken("cccccc", time.Hour))
	ip := machineAddress(t)
	w := &world{plane: p, node: startWith(t, settings, "--bootstrap-kubeconfig", bootstrap, "--kubeconfig", filepath.Join(dir, "kubeconfig-kubelet"),
		"--cert-dir", filepath.Join(dir, "pki"), "--cloud-provider=external", "--node-ip", ip, "--address", "0.0.0.0")}
	w.eventually("a node that is ready, tainted as a control plane's, and waits for its cloud", func() bool {
		n, ok := get[corev1.Node](w.plane, nodePath)
		return ok && nodeReady(n) && tainted(n) && slices.ContainsFunc(n.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == "node-role.kubernetes.io/control-plane" })
	})
	w.initialize("talos://node-a", []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: ip}, {Type: corev1.NodeHostName, Address: "node-a"}})
	w.await("static-node-a", "mirrored", ready)
	w.serves("LocalStorageCapacityIsolationFSQuotaMonitoring")
	text, err := os.ReadFile(filepath.Join(filepath.Dir(w.node.Dir), "agent.log"))
	must(t, err)
	if !strings.HasPrefix(string(text), "{") {
		t.Errorf("the log begins with %.80q, want JSON", text)
	}
}

// adapted returns the configuration of a distribution, with other paths and without what would change this machine.
func adapted(t *testing.T, file string, paths ...string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(distributions, file))
	must(t, err)
	var settings map[string]any
	must(t, yaml.Unmarshal([]byte(strings.NewReplacer(paths...).Replace(string(text))), &settings))
	maps.DeleteFunc(settings, func(name string, _ any) bool { return slices.Contains(ofTheMachine, name) })
	return settings
}

// ownManifest returns a manifest for the node itself.
func ownManifest(name string) string {
	return strings.Replace(manifest(name, sleeper), "  nodeName: node-a\n", "", 1)
}

// serves has the node run a pod of the cluster, reads its log through the API server, and checks that the node names the
// settings that it cannot honour.
func (w *world) serves(named string) {
	w.t.Helper()
	w.create(podsPath, manifest("web", "  tolerations: [{operator: Exists}]\n  containers:\n  - {name: main, image: \"nodal.test/busybox:1\", command: [sh, -c, \"echo hello; exec sleep 1000\"]}\n"))
	w.await("web", "ready", ready)
	if out := w.kubectl("logs", "web"); out != "hello\n" {
		w.t.Errorf("the log is %q, want hello", out)
	}
	info, err := nodev1.NewNodeServiceClient(w.node.Conn()).GetNode(w.t.Context(), &nodev1.GetNodeRequest{})
	must(w.t, err)
	if !slices.ContainsFunc(info.GetWarnings(), func(s *nodev1.SettingWarning) bool { return strings.Contains(s.GetSetting(), named) }) {
		w.t.Errorf("the node names %v, want %s among them", info.GetWarnings(), named)
	}
}

// servingPair writes a serving certificate for node-a and its key.
func (p *plane) servingPair(path string) {
	p.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(p.t, err)
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "node-a"}, DNSNames: []string{"node-a"}}, key)
	must(p.t, err)
	der, err := x509.MarshalECPrivateKey(key)
	must(p.t, err)
	w := &world{plane: p}
	certificate := w.sign(certificatesv1.CertificateSigningRequestSpec{
		Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}), SignerName: certificatesv1.KubeletServingSignerName,
	}, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	must(p.t, os.WriteFile(path+".crt", certificate, 0o600))
	must(p.t, os.WriteFile(path+".key", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600))
}
