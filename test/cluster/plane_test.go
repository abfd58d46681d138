package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"nodal/test/agent"
	"nodal/test/pace"
)

const patience = 60 * time.Second

// The tokens of the control plane's users.
const (
	adminToken = "admin-of-the-test"
	nodeToken  = "node-a-of-the-test"
	joinToken  = "bootstrap-of-the-test"
)

// plane is a control plane without a scheduler: tests bind pods themselves.
type plane struct {
	t         *testing.T
	dir       string
	port      int
	client    *http.Client
	apiserver *program
	clients   *authority
}

func part(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../.cache/parts", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("%v; test/cluster/parts/build.sh builds it", err)
	}
	return path
}

// startPlane runs etcd and kube-apiserver until the test ends.
func startPlane(t *testing.T) *plane {
	t.Helper()
	ports, claim, err := agent.ClaimPorts()
	must(t, err)
	t.Cleanup(func() { claim.Close() })
	p := &plane{t: t, dir: t.TempDir(), port: ports.Secure}
	p.writeFiles()
	etcd := fmt.Sprintf("http://127.0.0.1:%d", ports.Healthz)
	peer := fmt.Sprintf("http://127.0.0.1:%d", ports.ReadOnly)
	start(t, "etcd", part(t, "etcd"), "--data-dir", p.file("etcd"), "--log-level", "warn", "--unsafe-no-fsync",
		"--listen-client-urls", etcd, "--advertise-client-urls", etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	p.apiserver = start(t, "kube-apiserver", part(t, "kube-apiserver"), "--etcd-servers", etcd,
		"--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(p.port), "--cert-dir", p.file("certs"),
		"--token-auth-file", p.file("tokens.csv"), "--client-ca-file", p.file("clients.crt"), "--authorization-mode", "Node,RBAC", "--enable-admission-plugins", "NodeRestriction",
		"--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-key-file", p.file("sa.key"), "--service-account-signing-key-file", p.file("sa.key"),
		"--service-cluster-ip-range", "10.96.0.0/16", "--allow-privileged", "--endpoint-reconciler-type", "none", "--v", "1")
	var last []byte
	defer func() {
		if t.Failed() {
			t.Logf("the API server last said %s", last)
		}
	}()
	p.eventually("an API server that is ready", func() bool {
		certificate, err := os.ReadFile(p.file("certs/apiserver.crt"))
		if err != nil {
			return false
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(certificate)
		p.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}, Timeout: 10 * time.Second}
		code, text := p.try("GET", "/readyz", "", nil)
		last = text
		return code == http.StatusOK
	})
	p.eventually("the default namespace", func() bool { code, _ := p.try("GET", "/api/v1/namespaces/default", "", nil); return code == 200 })
	// What a cluster's controllers make in every namespace.
	p.create("/api/v1/namespaces/default/serviceaccounts", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default}\n")
	p.create("/api/v1/namespaces/default/configmaps", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-root-ca.crt}\ndata: {ca.crt: none}\n")
	return p
}

func (p *plane) file(name string) string { return filepath.Join(p.dir, name) }

func (p *plane) writeFiles() {
	p.t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(p.t, err)
	tokens := adminToken + ",admin,1,system:masters\n" + nodeToken + ",system:node:node-a,2,system:nodes\n" + joinToken + ",system:bootstrap:test,3,system:bootstrappers\n"
	pemKey := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	must(p.t, os.WriteFile(p.file("tokens.csv"), []byte(tokens), 0o600))
	must(p.t, os.WriteFile(p.file("sa.key"), pemKey, 0o600))
	p.clients = newAuthority(p.t)
	must(p.t, os.WriteFile(p.file("clients.crt"), p.clients.pem(), 0o600))
}

// kubeconfig is a way to the API server: the node's, or the one by which it may
// ask for its own.
func (p *plane) kubeconfig(token string) string {
	p.t.Helper()
	path := p.file(token + ".kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:%d", certificate-authority: %s}}]
users: [{name: u, user: {token: %s}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, p.port, p.file("certs/apiserver.crt"), token)
	must(p.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// try asks the API server as admin.
func (p *plane) try(method, path, contentType string, body []byte) (int, []byte) {
	return p.tryAs(adminToken, method, path, contentType, body)
}

func (p *plane) tryAs(token, method, path, contentType string, body []byte) (int, []byte) {
	r, err := http.NewRequestWithContext(p.t.Context(), method, fmt.Sprintf("https://127.0.0.1:%d%s", p.port, path), bytes.NewReader(body))
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

// ask has to succeed.
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

// get reads an object; false if it is not there.
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

// eventually waits for what a real client would poll for.
func (p *plane) eventually(wanted string, holds func() bool) {
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

// program is a part of the cluster that runs.
type program struct {
	t    *testing.T
	name string
	args []string
	log  *os.File
	cmd  *exec.Cmd
	stop context.CancelFunc
}

// start runs a program until the test ends, and shows the end of its log if the
// test failed.
func start(t *testing.T, name, path string, args ...string) *program {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), name+".log"))
	must(t, err)
	p := &program{t: t, name: name, args: append([]string{path}, args...), log: log}
	t.Cleanup(func() {
		p.end()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s's log ends with\n%s", name, text[max(0, len(text)-4000):])
		}
		log.Close()
	})
	p.begin()
	return p
}

// begin starts the program, for the first time or again.
func (p *program) begin() {
	p.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	p.cmd, p.stop = exec.CommandContext(ctx, p.args[0], p.args[1:]...), stop
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(p.t, p.cmd.Start())
}

// end kills the program, as a crash would.
func (p *program) end() {
	p.stop()
	p.cmd.Wait() // it was killed
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
