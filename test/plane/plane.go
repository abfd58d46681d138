package plane

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"nodal/test/agent"
	"nodal/test/process"
)

// User is a user of the API server. Each control plane makes new tokens.
type User string

const (
	Admin User = "admin"
	Node  User = "node-a"    // the node of this name
	Local User = "localhost" // a node whose name resolves on every machine
	Joins User = "joining"   // may request a certificate for a node
)

// Config holds the paths and flags of a control plane.
type Config struct {
	Dir   string // the directory for its files
	Parts string // the directory of the programs
	Ports agent.Ports
	Flags []string // additional flags of the API server
}

// Plane is a running control plane.
type Plane struct {
	Config
	Clients   *Authority
	APIServer *process.Process

	tokens   map[User]string
	programs []*process.Process
}

// Start runs etcd and kube-apiserver, and returns when the API server is ready. After an error,
// Stop ends what has started.
func Start(ctx context.Context, c Config) (*Plane, error) {
	p := &Plane{Config: c}
	if err := p.write(); err != nil {
		return p, fmt.Errorf("write the files of a control plane: %w", err)
	}
	etcd, peer := fmt.Sprintf("http://127.0.0.1:%d", c.Ports.Healthz), fmt.Sprintf("http://127.0.0.1:%d", c.Ports.ReadOnly)
	_, err := p.run("etcd", "--data-dir", p.File("etcd"), "--log-level", "warn", "--unsafe-no-fsync",
		"--listen-client-urls", etcd, "--advertise-client-urls", etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	if err != nil {
		return p, err
	}
	flags := append([]string{"--etcd-servers", etcd,
		"--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(c.Ports.Secure), "--cert-dir", p.File("certs"),
		"--token-auth-file", p.File("tokens.csv"), "--client-ca-file", p.ClientCA(),
		"--kubelet-client-certificate", p.File("apiserver.pem"), "--kubelet-client-key", p.File("apiserver.pem"), "--kubelet-preferred-address-types", "InternalIP",
		"--proxy-client-cert-file", p.File("apiserver.pem"), "--proxy-client-key-file", p.File("apiserver.pem"),
		"--requestheader-client-ca-file", p.ClientCA(), "--requestheader-allowed-names", "kube-apiserver", "--requestheader-username-headers", "X-Remote-User",
		"--requestheader-group-headers", "X-Remote-Group", "--requestheader-extra-headers-prefix", "X-Remote-Extra-",
		"--authorization-mode", "Node,RBAC", "--enable-admission-plugins", "NodeRestriction",
		"--feature-gates", "ClusterTrustBundle=true,ClusterTrustBundleProjection=true", "--runtime-config", "certificates.k8s.io/v1beta1=true",
		"--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-key-file", p.File("sa.key"), "--service-account-signing-key-file", p.File("sa.key"),
		"--service-cluster-ip-range", "10.96.0.0/16", "--allow-privileged", "--endpoint-reconciler-type", "none", "--v", "1"}, c.Flags...)
	if p.APIServer, err = p.run("kube-apiserver", flags...); err != nil {
		return p, err
	}
	return p, p.awaitReady(ctx)
}

// StartControllers runs the scheduler, and the controllers with additional flags.
func (p *Plane) StartControllers(flags ...string) error {
	admin, err := p.Kubeconfig(Admin)
	if err != nil {
		return err
	}
	if _, err := p.run("kube-scheduler", "--kubeconfig", admin, "--leader-elect=false", "--secure-port", "0"); err != nil {
		return err
	}
	_, err = p.run("kube-controller-manager", append([]string{"--kubeconfig", admin, "--leader-elect=false", "--secure-port", "0",
		"--service-account-private-key-file", p.File("sa.key"), "--root-ca-file", p.File("certs/apiserver.crt"),
		"--cluster-signing-cert-file", p.ClientCA(), "--cluster-signing-key-file", p.File("clients.key")}, flags...)...)
	return err
}

// Stop kills all programs in reverse order.
func (p *Plane) Stop() {
	for i := range p.programs {
		p.programs[len(p.programs)-1-i].Kill()
	}
}

// LogTails returns the end of each program's log.
func (p *Plane) LogTails() (text string) {
	for _, program := range p.programs {
		text += fmt.Sprintf("%s's log ends with\n%s\n", filepath.Base(program.Path), program.LogTail())
	}
	return text
}

// File returns the path of one of the control plane's files.
func (p *Plane) File(name string) string { return filepath.Join(p.Dir, name) }

// ClientCA returns the path of the authority that signs the API server's client certificate for
// nodes.
func (p *Plane) ClientCA() string { return p.File("clients.crt") }

// Program returns the path of one of the programs.
func (p *Plane) Program(name string) string { return filepath.Join(p.Parts, name) }

func (p *Plane) run(name string, args ...string) (*process.Process, error) {
	program := NewProgram(p.Program(name), p.File(name+".log"), args...)
	p.programs = append(p.programs, program)
	return program, program.Start()
}

func (p *Plane) write() (err error) {
	if p.Clients, err = NewAuthority(); err != nil {
		return err
	}
	serviceAccounts, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	accountsKey, err := keyText(serviceAccounts)
	clientsKey, err2 := keyText(p.Clients.Key)
	own, err3 := p.Clients.client("kube-apiserver", "system:masters")
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		"tokens.csv": p.newTokens(), "sa.key": accountsKey, "clients.crt": p.Clients.pem(), "clients.key": clientsKey, "apiserver.pem": own,
	} {
		if err := os.WriteFile(p.File(name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// newTokens makes a token for each user, and returns them in the API server's format.
func (p *Plane) newTokens() []byte {
	p.tokens = map[User]string{}
	var text bytes.Buffer
	for _, account := range []struct {
		user        User
		name, group string
	}{
		{Admin, "admin", "system:masters"},
		{Node, "system:node:node-a", "system:nodes"},
		{Local, "system:node:localhost", "system:nodes"},
		{Joins, "system:bootstrap:test", "system:bootstrappers"},
	} {
		p.tokens[account.user] = rand.Text()
		fmt.Fprintf(&text, "%s,%s,%s,%s\n", p.tokens[account.user], account.name, account.user, account.group)
	}
	return text.Bytes()
}

// Token returns the user's token.
func (p *Plane) Token(user User) string { return p.tokens[user] }

// Kubeconfig writes a user's kubeconfig and returns its path. The file is replaced atomically,
// because other processes may read it at any time.
func (p *Plane) Kubeconfig(user User) (path string, err error) {
	path = p.File(string(user) + ".kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:%d", certificate-authority: %s}}]
users: [{name: u, user: {token: %s}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, p.Ports.Secure, p.File("certs/apiserver.crt"), p.Token(user))
	return path, errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path))
}

// Client returns a client that trusts the API server, whose certificate exists once it has started.
func (p *Plane) Client() (*http.Client, error) {
	certificate, err := os.ReadFile(p.File("certs/apiserver.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}, Timeout: 10 * time.Second}, nil
}

// Get sends a request to the API server as the admin.
func (p *Plane) Get(ctx context.Context, client *http.Client, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d%s", p.Ports.Secure, path), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+p.Token(Admin))
	return client.Do(r)
}

func (p *Plane) awaitReady(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := p.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the API server: %w", err)
		}
	}
}

// ready returns an error until the API server has made a cluster's first objects.
func (p *Plane) ready(ctx context.Context) error {
	client, err := p.Client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for _, path := range []string{"/readyz", "/api/v1/namespaces/default"} {
		answer, err := p.Get(ctx, client, path)
		if err != nil {
			return err
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("GET %s: %s", path, answer.Status)
		}
	}
	return nil
}
