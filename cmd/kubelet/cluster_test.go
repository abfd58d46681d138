package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"nodal/agent/config"
)

// certify writes a kubeconfig and the certificate that it names, which lasts so long.
func certify(t *testing.T, kubeconfig string, lasts time.Duration) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(lasts)}
	leaf, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	pair := kubeconfig + ".pem"
	way := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://cluster"}}]
users: [{name: u, user: {client-certificate: %s, client-key: %s}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, pair, pair)
	for path, text := range map[string][]byte{pair: text, kubeconfig: []byte(way)} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func lonely(kubeconfig string) *agent {
	return &agent{cfg: &config.Config{Cluster: config.Cluster{Kubeconfig: kubeconfig}}, log: slog.New(slog.DiscardHandler)}
}

func TestANodeWhoseCertificateHasRunOutStartsAndWaitsForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kubeconfig := filepath.Join(t.TempDir(), "kubelet.conf")
		certify(t, kubeconfig, -time.Minute)
		m, err := lonely(kubeconfig).membership()
		if err != nil {
			t.Fatalf("the node does not start: %v", err)
		}
		joined := false
		go func() {
			joined = m.bootstrap(t.Context()) == nil
		}()
		time.Sleep(time.Hour) // of the bubble's clock
		synctest.Wait()
		if joined || m.api != nil {
			t.Fatal("it joins by a certificate that nobody would take")
		}
		certify(t, kubeconfig, time.Hour)
		time.Sleep(time.Minute)
		synctest.Wait()
		if !joined || m.api == nil {
			t.Error("it does not join by the one that it got")
		}
	})
}

func TestWhatIsWrongWithAWayToTheClusterIsSaidAtTheStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubelet.conf")
	if _, err := lonely(file).membership(); err == nil {
		t.Error("a file that is not there is no trouble")
	}
	certify(t, file, time.Hour)
	a := lonely(file)
	a.cfg.NodeLabels = map[string]string{"node-role.kubernetes.io/x": ""}
	if _, err := a.membership(); err == nil {
		t.Error("labels that the cluster would refuse are no trouble")
	}
}
