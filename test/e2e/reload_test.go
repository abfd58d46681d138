package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/claim"
)

// configure writes a drop-in of the node's configuration.
func (n *node) configure(fields string) {
	n.t.Helper()
	n.file("drops/50.conf", "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"+fields)
}

// tells waits until an event of the node has a text.
func (n *node) tells(text string) {
	n.t.Helper()
	n.eventually("an event with "+text, func() bool { return strings.Contains(n.events(), text) })
}

// configuration holds what the node says of its files.
type configuration struct {
	Files           []string
	ReadAt, TakenAt time.Time
	Fault           string
	Taken           []string
	NeedsRestart    json.RawMessage
}

func (n *node) configuration() configuration {
	n.t.Helper()
	var got struct{ Configuration configuration }
	if err := json.Unmarshal([]byte(n.curl("/v1/node").body), &got); err != nil {
		n.t.Fatal(err)
	}
	return got.Configuration
}

// takenBy checks what has the node use another value of settings.
func (n *node) takenBy(want map[string]string) {
	n.t.Helper()
	var got struct {
		Settings []struct{ Name, TakenBy string }
	}
	if err := json.Unmarshal([]byte(n.curl("/v1/node/config").body), &got); err != nil {
		n.t.Fatal(err)
	}
	found := map[string]string{}
	for _, s := range got.Settings {
		found[s.Name] = s.TakenBy
	}
	for name, by := range want {
		if found[name] != by {
			n.t.Errorf("%s is taken by %q, want %s", name, found[name], by)
		}
	}
}

// selfSigned writes a certificate and its key for loopback, and returns their paths.
func (n *node) selfSigned(name string) (cert, key string) {
	n.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		n.t.Fatal(err)
	}
	made := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, made, made, &private.PublicKey, private)
	if err != nil {
		n.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		n.t.Fatal(err)
	}
	return n.file(name+".crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		n.file(name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
}

// served returns the name in the certificate of the TLS port.
func (n *node) served() string {
	conn, err := tls.Dial("tcp", n.secure(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
}

func TestARunningNodeFollowsItsConfigurationFiles(t *testing.T) {
	claim.Shows(t, "Restarts and faults",
		"a running node takes changed thresholds of eviction, limits of pods, labels, the level of its log and files of TLS from its configuration files",
		"a lower limit of pods touches none that runs",
		"settings that wait for a restart are named in an event, with both values",
		"the node says when its configuration files were read, what it took of them, what waits for a restart, and why they are rejected",
		"each setting says whether the running node takes another value of its files",
		"a broken configuration file keeps the last good one in force",
		"SIGHUP has the configuration files read again",
	)
	n := prepare(t, func(c *agent.Config) {
		drops, labels := filepath.Join(filepath.Dir(c.Dir), "drops"), filepath.Join(filepath.Dir(c.Dir), "labels")
		c.Flags = []string{"--hostname-override", "node-a", "--config-dir", drops, "--node-labels-file", labels}
		if err := os.MkdirAll(drops, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(labels, []byte("rack=r1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	n.up()
	if c := n.configuration(); c.Fault != "" || len(c.Taken)+len(c.NeedsRestart) != 0 || len(c.Files) != 3 || c.ReadAt.IsZero() {
		t.Errorf("at the start the node says %+v, want that three files were read", c)
	}
	n.apply(web("first").yaml())
	before := n.waitRunning("first")
	n.configure("maxPods: 1\nevictionHard: {memory.available: 1Mi}\nlogging: {verbosity: 4}\n")
	n.tells("maxPods is 1 now and was 250")
	if got := n.curl("/v1/node").body; !strings.Contains(got, `"pods":"1"`) {
		t.Errorf("the node shows %s, want one pod", got)
	}
	if got := n.curl("/v1/node/pressure").body; !strings.Contains(got, `"least":"1Mi"`) {
		t.Errorf("the thresholds are %s, want 1Mi of memory", got)
	}
	if got := n.curl("/v1/node/loglevel").body; !strings.Contains(got, `"verbosity":4`) {
		t.Errorf("the level of the log is %s, want 4", got)
	}
	c := n.configuration()
	if !slices.Equal(c.Taken, []string{"evictionHard", "logging.verbosity", "maxPods"}) || c.TakenAt.IsZero() || len(c.NeedsRestart) != 0 {
		t.Errorf("the node says %+v, want that it took three settings", c)
	}
	n.takenBy(map[string]string{"maxPods": "TAKEN_BY_RELOAD", "serializeImagePulls": "TAKEN_BY_RESTART",
		"--hostname-override": "TAKEN_BY_RESTART", "--node-labels-file": "TAKEN_BY_RELOAD"})
	n.apply(web("second").yaml())
	n.wait("second", "second refused", func(p *corev1.Pod) bool { return p.Status.Reason == "OutOfpods" })

	n.file("labels", "rack=r2\n")
	n.eventually("another label", func() bool { return strings.Contains(n.curl("/v1/node").body, `"rack":"r2"`) })

	cert, key := n.selfSigned("other")
	n.configure(fmt.Sprintf("maxPods: 5\ntlsCertFile: %s\ntlsPrivateKeyFile: %s\n", cert, key))
	n.eventually("another certificate", func() bool { return n.served() == "other" })

	n.configure("maxPods: 5\nserializeImagePulls: false\n")
	n.tells("until the next start serializeImagePulls stays true, and the files want false")
	if n.served() == "other" {
		t.Error("the certificate of a file that is named no more is served")
	}
	want := `[{"name":"serializeImagePulls","running":true,"wanted":false}]`
	if c := n.configuration(); string(c.NeedsRestart) != want || !slices.Contains(c.Taken, "tlsCertFile") {
		t.Errorf("the node says %+v, want that the files of the certificate were taken and serializeImagePulls needs a restart", c)
	}

	n.configure("maxPods: [\n")
	n.tells("ConfigRejected")
	if got := n.curl("/v1/node").body; !strings.Contains(n.events(), "50.conf") || !strings.Contains(got, `"pods":"5"`) {
		t.Errorf("got %s, want five pods as before, and an event that names the file", got)
	}
	if c := n.configuration(); !strings.Contains(c.Fault, "50.conf") || string(c.NeedsRestart) != want {
		t.Errorf("the node says %+v, want the fault, and what waits as before", c)
	}
	if got := n.curl("/metrics").body; !strings.Contains(got, "kubelet_node_config_error 1") {
		t.Error("no metric tells of the broken file")
	}
	if err := os.Remove(filepath.Join(n.rt.Dir, "drops/50.conf")); err != nil {
		t.Fatal(err)
	}
	n.tells("maxPods is 250 now and was 5")
	if got := n.curl("/metrics").body; !strings.Contains(got, "kubelet_node_config_error 0") {
		t.Error("the metric still tells of a broken file")
	}

	c = n.configuration()
	if c.Fault != "" || len(c.NeedsRestart) != 0 || !slices.Equal(c.Taken, []string{"maxPods"}) {
		t.Errorf("the node says %+v, want that maxPods was taken and nothing waits", c)
	}
	if err := syscall.Kill(n.Pid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	n.tells("the files hold what is in force")
	if after := n.get("first"); !ready(after) || containerStatus(after, "main").ContainerID != containerStatus(before, "main").ContainerID {
		t.Errorf("first is %+v, want it to run on", after.Status)
	}
	if again := n.configuration(); !again.ReadAt.After(c.ReadAt) || !again.TakenAt.Equal(c.TakenAt) {
		t.Errorf("the node says %+v and then %+v, want that it has only read its files", c, again)
	}
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	n.up()
	if c := n.configuration(); !c.TakenAt.IsZero() || len(c.Taken) != 0 {
		t.Errorf("after a restart the node says %+v, want that it took nothing while it ran", c)
	}
}
