package hardening

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	kubelet "k8s.io/kubelet/config/v1beta1"

	"nodal/agent/config"
	"nodal/host/service"
	"nodal/server/auth"
)

// installed is a node that `kubelet install` has made below a directory, with its credentials and its configuration.
type installed struct {
	*testing.T
	root     string // stands for /
	state    string // the node's root directory
	material *auth.Material
	*config.Config
	configz struct {
		Kubelet kubelet.KubeletConfiguration `json:"kubeletconfig"`
		Flags   struct {
			HostnameOverride string `json:"hostnameOverride"`
		} `json:"kubeletflags"`
	}
}

func install(t *testing.T) *installed {
	t.Helper()
	n := &installed{T: t, root: t.TempDir(), state: t.TempDir()}
	steps, err := service.Install(service.Config{Program: "/proc/self/exe", Root: n.root})
	for _, step := range steps {
		if err == nil {
			err = step.Do(t.Context())
		}
	}
	if err == nil {
		n.material, err = auth.Bootstrap(auth.Dirs{Root: n.state}, []string{"node1"}, time.Now())
	}
	if err == nil {
		n.Config, err = config.Load([]string{"--config", filepath.Join(n.root, service.Settings), "--root-dir", n.state})
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := n.Config.Configz()
	if err == nil {
		err = json.Unmarshal(text, &n.configz)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// private fails the test unless each file is the installer's, and closed to everyone else.
func (n *installed) private(paths ...string) {
	n.Helper()
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			n.Error(err)
			continue
		}
		owner, _ := info.Sys().(*syscall.Stat_t)
		if info.Mode().Perm()&^0o600 != 0 || int(owner.Uid) != os.Getuid() || int(owner.Gid) != os.Getgid() {
			n.Errorf("%s: got mode %o of %d:%d, want 600 of the installer", path, info.Mode().Perm(), owner.Uid, owner.Gid)
		}
	}
}

func (n *installed) want(holds bool, format string, args ...any) {
	n.Helper()
	if !holds {
		n.Errorf(format, args...)
	}
}

func (n *installed) unit()     { n.private(filepath.Join(n.root, "etc/systemd/system/kubelet.service")) }
func (n *installed) settings() { n.private(filepath.Join(n.root, service.Settings)) }

// credentials checks every file that an authority or a caller of the node is known by.
func (n *installed) credentials() {
	for _, dir := range []string{"pki", "credentials"} {
		err := filepath.Walk(filepath.Join(n.state, dir), func(path string, info os.FileInfo, err error) error {
			if err == nil && !info.IsDir() {
				n.private(path)
			}
			return err
		})
		if err != nil {
			n.Error(err)
		}
	}
}

// alone checks that an installed node is no member of a cluster and has no kubeconfig, of its own or of a proxy.
func (n *installed) alone() {
	n.want(n.Cluster.Kubeconfig == "", "the node has a kubeconfig, %s", n.Cluster.Kubeconfig)
	err := filepath.Walk(n.root, func(path string, info os.FileInfo, err error) error {
		n.want(!strings.Contains(info.Name(), "kubeconfig"), "%s is there", path)
		return err
	})
	if err != nil {
		n.Error(err)
	}
}

func (n *installed) ownCertificate() {
	for _, at := range []time.Duration{0, 340 * 24 * time.Hour} {
		before, err := os.ReadFile(n.material.CertFile)
		if err != nil {
			n.Fatal(err)
		}
		if _, err := auth.Bootstrap(auth.Dirs{Root: n.state}, []string{"node1"}, time.Now().Add(at)); err != nil {
			n.Fatal(err)
		}
		after, err := os.ReadFile(n.material.CertFile)
		renewed := string(before) != string(after)
		n.want(err == nil && renewed == (at > 0), "after %s the serving certificate is renewed: %t, %v", at, renewed, err)
	}
}

func (n *installed) ciphers() {
	n.want(n.Auth.TLS.MinVersion >= tls.VersionTLS12 && len(n.Auth.TLS.CipherSuites) > 0, "got %+v", n.Auth.TLS)
	for _, suite := range n.Auth.TLS.CipherSuites {
		name := tls.CipherSuiteName(suite)
		sealed := strings.Contains(name, "_GCM_") || strings.Contains(name, "_CHACHA20_POLY1305_")
		n.want(strings.HasPrefix(name, "TLS_ECDHE_") && sealed, "%s is accepted", name)
	}
}

// item is one recommendation of the benchmark, as this node answers it.
type item struct {
	number, asks, answer, how string
	check                     func(*installed)
}

const (
	holds  = "holds"
	absent = "does not apply"
)

var items = []item{
	{"4.1.1", "permissions of the service's file", holds, "the unit is 600", (*installed).unit},
	{"4.1.2", "owner of the service's file", holds, "`kubelet install` is run by root", (*installed).unit},
	{"4.1.3", "permissions of the proxy's kubeconfig", absent, "no kube-proxy is installed", (*installed).alone},
	{"4.1.4", "owner of the proxy's kubeconfig", absent, "no kube-proxy is installed", (*installed).alone},
	{"4.1.5", "permissions of kubelet.conf", absent, "a node of its own has no kubeconfig; a cluster's is the cluster's to write", (*installed).alone},
	{"4.1.6", "owner of kubelet.conf", absent, "as 4.1.5", (*installed).alone},
	{"4.1.7", "permissions of the certificate authorities", holds, "all files below `pki` and `credentials` are 600", (*installed).credentials},
	{"4.1.8", "owner of the client certificate authorities", holds, "the agent, which is root, makes them", (*installed).credentials},
	{"4.1.9", "permissions of the configuration file", holds, "`/etc/nodal/config.yaml` is 600", (*installed).settings},
	{"4.1.10", "owner of the configuration file", holds, "`kubelet install` is run by root", (*installed).settings},
	{"4.2.1", "no anonymous callers", holds, "`authentication.anonymous.enabled` is false", func(n *installed) {
		n.want(!n.Auth.Anonymous && !*n.configz.Kubelet.Authentication.Anonymous.Enabled, "anonymous callers are let in")
	}},
	{"4.2.2", "not AlwaysAllow", holds, "the node's own roles decide; in a cluster, Webhook for others", func(n *installed) {
		n.want(n.Auth.Mode != config.AuthAlwaysAllow, "the mode is AlwaysAllow")
	}},
	{"4.2.3", "an authority for client certificates", holds, "the node's own, `pki/ca.crt`; `clientCAFile` adds one", func(n *installed) {
		_, err := auth.New(auth.Config{Material: *n.material})
		n.want(err == nil && n.material.CAFile == filepath.Join(n.state, "pki", "ca.crt"), "got %s, %v", n.material.CAFile, err)
	}},
	{"4.2.4", "no read-only port", holds, "`readOnlyPort` is 0", func(n *installed) {
		n.want(n.Listen.ReadOnlyPort == 0, "port %d is open", n.Listen.ReadOnlyPort)
	}},
	{"4.2.5", "idle streams end", holds, "`streamingConnectionIdleTimeout` is 4 h", func(n *installed) {
		n.want(n.Listen.StreamIdle == 4*time.Hour, "got %s", n.Listen.StreamIdle)
	}},
	{"4.2.6", "makeIPTablesUtilChains", absent, "true, and without effect: the node has no chains that another program could change", func(n *installed) {
		n.want(*n.configz.Kubelet.MakeIPTablesUtilChains, "it is false")
	}},
	{"4.2.7", "no hostname-override", holds, "the node has the machine's name", func(n *installed) {
		n.want(n.configz.Flags.HostnameOverride == "", "the name is %q", n.configz.Flags.HostnameOverride)
	}},
	{"4.2.8", "a rate of events that loses none", holds, "`eventRecordQPS` is 50, which counts with `--kubeconfig`", func(n *installed) {
		n.want(n.Cluster.EventQPS == 50 && *n.configz.Kubelet.EventRecordQPS == 50, "got %v", n.Cluster.EventQPS)
	}},
	{"4.2.9", "a serving certificate and its key", holds, "made at the first start; `tlsCertFile` replaces it", func(n *installed) {
		n.private(n.material.CertFile, n.material.KeyFile)
	}},
	{"4.2.10", "client certificates are renewed", absent, "a node of its own has no client certificate; `rotateCertificates` counts with `--kubeconfig`", (*installed).alone},
	{"4.2.11", "the serving certificate is renewed", holds, "30 days before its end, without a restart", (*installed).ownCertificate},
	{"4.2.12", "strong ciphers only", holds, "TLS 1.2 and 1.3, with ECDHE and AEAD", (*installed).ciphers},
	{"4.2.13", "a limit for the processes of a pod", holds, "`podPidsLimit` is 4096", func(n *installed) {
		n.want(n.Cgroups.PodPids == 4096, "got %d", n.Cgroups.PodPids)
	}},
}

func TestTheBenchmarkHoldsForAnInstalledNode(t *testing.T) {
	for _, i := range items {
		t.Run(i.number, func(t *testing.T) { i.check(install(t)) })
	}
	var rows strings.Builder
	rows.WriteString("| item | asks for | answer | how |\n|---|---|---|---|\n")
	for _, i := range items {
		fmt.Fprintf(&rows, "| %s | %s | %s | %s |\n", i.number, i.asks, i.answer, i.how)
	}
	wantTable(t, "cis", rows.String())
}
