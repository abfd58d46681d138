package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/version"

	"nodal/test/agent"
	"nodal/test/pace"
	controlplane "nodal/test/plane"
	"nodal/test/process"
)

const patience = 60 * time.Second

// PlaneEnv names the minor version of the control planes that tests start, such as 1.35. Without it they have the version
// of parts/go.mod.
const PlaneEnv = "NODAL_PLANE"

// plane is a control plane. Without a scheduler, tests bind pods themselves.
type plane struct {
	*controlplane.Plane
	t         *testing.T
	client    *http.Client
	apiserver program
	minor     int // the API server's version after "1."
}

// startPlane runs etcd and kube-apiserver until the test ends, with additional flags.
func startPlane(t *testing.T, flags ...string) *plane {
	t.Helper()
	ports, claim, err := agent.ClaimPorts()
	must(t, err)
	t.Cleanup(func() { claim.Close() })
	parts, err := filepath.Abs(filepath.Join("../../.cache/parts", os.Getenv(PlaneEnv)))
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(patience))
	defer cancel()
	inner, err := controlplane.Start(ctx, controlplane.Config{Dir: t.TempDir(), Parts: parts, Ports: ports, Flags: flags})
	t.Cleanup(func() {
		inner.Stop()
		if t.Failed() {
			t.Log(inner.LogTails())
		}
	})
	if err != nil {
		t.Fatalf("%v; test/cluster/parts/build.sh builds the programs", err)
	}
	p := &plane{Plane: inner, t: t, apiserver: program{t, inner.APIServer}}
	p.client, err = inner.Client()
	must(t, err)
	p.readVersion()
	// A cluster's controllers would make these in every namespace.
	p.create("/api/v1/namespaces/default/serviceaccounts", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default}\n")
	p.create("/api/v1/namespaces/default/configmaps", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-root-ca.crt}\ndata: {ca.crt: none}\n")
	return p
}

// readVersion notes the minor version of the API server, and checks that it is the one that was asked for.
func (p *plane) readVersion() {
	p.t.Helper()
	served, _ := get[version.Info](p, "/version")
	if asked := os.Getenv(PlaneEnv); asked != "" && served.Major+"."+served.Minor != asked {
		p.t.Fatalf("the API server has version %q, want %s", served.GitVersion, asked)
	}
	var err error
	p.minor, err = strconv.Atoi(served.Minor)
	must(p.t, err)
}

// kubeconfig returns a kubeconfig for a user: the node, or a node that has yet to ask for its
// certificate.
func (p *plane) kubeconfig(user controlplane.User) string {
	p.t.Helper()
	path, err := p.Kubeconfig(user)
	must(p.t, err)
	return path
}

// try sends a request to the API server as the admin.
func (p *plane) try(method, path, contentType string, body []byte) (int, []byte) {
	return p.tryAs(p.Token(controlplane.Admin), method, path, contentType, body)
}

func (p *plane) tryAs(token, method, path, contentType string, body []byte) (int, []byte) {
	r, err := http.NewRequestWithContext(p.t.Context(), method, fmt.Sprintf("https://127.0.0.1:%d%s", p.Ports.Secure, path), bytes.NewReader(body))
	must(p.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", contentType)
	answer, err := p.client.Do(r)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	return answer.StatusCode, text
}

// ask sends a request that must succeed.
func (p *plane) ask(method, path, contentType, body string) []byte {
	p.t.Helper()
	code, text := p.try(method, path, contentType, []byte(body))
	if code < 200 || code >= 300 {
		p.t.Fatalf("%s %s: got %d %s", method, path, code, text)
	}
	return text
}

func (p *plane) create(path, yaml string) {
	p.t.Helper()
	p.ask("POST", path, "application/yaml", yaml)
}

// claim makes a claim with a local volume of a node, bound as a cluster's controllers do it.
func (p *plane) claim(node, dir string) {
	p.t.Helper()
	const claims = "/api/v1/namespaces/default/persistentvolumeclaims"
	p.create(claims, `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: disk, resources: {requests: {storage: 1Mi}}}
`)
	claim, _ := get[corev1.PersistentVolumeClaim](p, claims+"/data")
	p.create("/api/v1/persistentvolumes", fmt.Sprintf(`apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Mi}
  storageClassName: ""
  persistentVolumeReclaimPolicy: Retain
  local: {path: %s}
  claimRef: {kind: PersistentVolumeClaim, namespace: default, name: data, uid: %s}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%s]}]}]}}
`, dir, claim.UID, node))
	const bound = `{"status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Mi"}}}`
	p.ask("PATCH", "/api/v1/persistentvolumes/disk/status", "application/merge-patch+json", `{"status": {"phase": "Bound"}}`)
	p.ask("PATCH", claims+"/data/status", "application/merge-patch+json", bound)
}

// get reads an object; false if it does not exist.
func get[T any](p *plane, path string) (T, bool) {
	p.t.Helper()
	var object T
	code, text := p.try("GET", path, "", nil)
	if code == http.StatusNotFound {
		return object, false
	}
	if code != http.StatusOK {
		p.t.Logf("GET %s: got %d %s", path, code, text)
		return object, false
	}
	must(p.t, json.Unmarshal(text, &object))
	return object, true
}

// eventually polls until a condition holds, as a real client would.
func (p *plane) eventually(wanted string, holds func() bool) {
	p.t.Helper()
	p.within(patience, wanted, holds)
}

// within polls for so long.
func (p *plane) within(patience time.Duration, wanted string, holds func() bool) {
	p.t.Helper()
	deadline := time.NewTimer(pace.Of(patience))
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			p.t.Fatalf("waited %s in vain for %s", pace.Of(patience), wanted)
		}
	}
}

// program is a part of the cluster that may be killed.
type program struct {
	t *testing.T
	*process.Process
}

// start runs a program until the test ends. If the test failed, it logs the end of the program's
// log.
func start(t *testing.T, path string, args ...string) program {
	t.Helper()
	p := program{t, controlplane.NewProgram(path, filepath.Join(t.TempDir(), "log"), args...)}
	t.Cleanup(func() {
		p.end()
		if t.Failed() {
			t.Logf("the log of %s ends with\n%s", path, p.LogTail())
		}
	})
	p.begin()
	return p
}

// begin starts the program, also after an end.
func (p program) begin() {
	p.t.Helper()
	must(p.t, p.Start())
}

// end kills the program.
func (p program) end() { p.Kill() }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
