package e2e

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"nodal/test/agent"
	"nodal/test/rig"
)

// The credentials of the registry's only user.
const (
	registryUser      = "me"
	registryPassword  = "hunter2"
	registryPasswords = registryUser + ":$2a$04$02NHZ51dH68bXfTymwCNoOUm.hCTWx/cAz1/DnkshV.JdINu9p6qW\n"
)

// registry is the reference implementation on loopback, with TLS and a password.
type registry struct {
	n    *node
	host string
	tls  tls.Certificate
}

// startRegistry serves until the test ends. The runtime trusts its certificate.
func startRegistry(n *node) *registry {
	n.t.Helper()
	binary, err := agent.Registry(n.t.TempDir())
	if err != nil {
		n.t.Fatal(err)
	}
	lender := httptest.NewTLSServer(http.NotFoundHandler()) // it has a certificate for 127.0.0.1
	lender.Close()
	r := &registry{n: n, tls: lender.TLS.Certificates[0]}
	key, err := x509.MarshalPKCS8PrivateKey(r.tls.PrivateKey)
	if err != nil {
		n.t.Fatal(err)
	}
	serve := exec.Command(binary,
		"-cert", n.file("registry/cert.pem", r.certificate()),
		"-key", n.file("registry/key.pem", pemOf("PRIVATE KEY", key)),
		"-htpasswd", n.file("registry/htpasswd", registryPasswords))
	out, err := serve.StdoutPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		_ = serve.Process.Kill()
		_ = serve.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		n.t.Fatalf("the registry says %q and no address: %v", line, err)
	}
	r.host = strings.TrimSpace(line)
	r.trust(r.host)
	return r
}

func (r *registry) certificate() string { return pemOf("CERTIFICATE", r.tls.Certificate[0]) }

func pemOf(kind string, data []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
}

// trust makes the runtime trust the registry's certificate for an address.
func (r *registry) trust(host string) {
	r.n.t.Helper()
	ca := r.n.file("registry/cert.pem", r.certificate())
	r.n.file(filepath.Join("hosts", host, "hosts.toml"), fmt.Sprintf("server = \"https://%[1]s\"\n[host.\"https://%[1]s\"]\n  ca = %[2]q\n", host, ca))
}

// push pushes an image with a unique layer under a repository.
func (r *registry) push(repository string) string {
	r.n.t.Helper()
	return r.pushWith(repository, 200_000)
}

// pushWith is push with a layer of this size.
func (r *registry) pushWith(repository string, bytes int64) string {
	r.n.t.Helper()
	ref, err := name.ParseReference(r.host + "/" + repository + ":1")
	if err != nil {
		r.n.t.Fatal(err)
	}
	image, err := probeImage(bytes)
	if err != nil {
		r.n.t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // loopback
	defer transport.CloseIdleConnections()
	if err := remote.Write(ref, image, remote.WithTransport(transport),
		remote.WithAuth(&authn.Basic{Username: registryUser, Password: registryPassword})); err != nil {
		r.n.t.Fatal(err)
	}
	return ref.String()
}

func probeImage(bytes int64) (v1.Image, error) {
	var saved strings.Builder
	if err := rig.Save(&saved, "probe"); err != nil {
		return nil, err
	}
	probe, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(saved.String())), nil }, nil)
	if err != nil {
		return nil, err
	}
	layer, err := random.Layer(bytes, types.DockerLayer)
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(probe, layer)
}

// secret returns a pull secret for the registry at an address.
func (r *registry) secret(name, host string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: %s}
type: kubernetes.io/dockerconfigjson
stringData:
  .dockerconfigjson: '{"auths": {%q: {"username": %q, "password": %q}}}'
`, name, host, registryUser, registryPassword)
}

// private returns a pod whose image is pulled with a secret.
func private(name, image, secret string) string {
	p := pod{name: name, apps: []program{{name: "main", image: image, args: []string{"pause"}}}}
	return p.yaml() + "  imagePullSecrets: [{name: " + secret + "}]\n"
}
