package membership

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

	"k8s.io/client-go/rest"

	"nodal/agent/config"
)

// certify writes a kubeconfig and the certificate that it names, and has it last so long.
func certify(t *testing.T, kubeconfig string, lasts time.Duration) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(lasts),
	}
	leaf, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf})
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
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

// lonely is the configuration of a node that has a kubeconfig and nothing else.
func lonely(kubeconfig string) Config {
	return Config{Cluster: config.Cluster{Kubeconfig: kubeconfig}, Log: slog.New(slog.DiscardHandler)}
}

func TestNodeWithAnExpiredCertificateStartsAndWaitsForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kubeconfig := filepath.Join(t.TempDir(), "kubelet.conf")
		certify(t, kubeconfig, -time.Minute)
		m, err := New(lonely(kubeconfig))
		if err != nil {
			t.Fatalf("the node does not start: %v", err)
		}
		var api *rest.Config
		go func() {
			if found, err := m.bootstrap(t.Context()); err == nil {
				api = found
			}
		}()
		time.Sleep(time.Hour) // of the bubble's clock
		synctest.Wait()
		if api != nil {
			t.Fatal("it joins by a certificate that has expired")
		}
		certify(t, kubeconfig, time.Hour)
		time.Sleep(time.Minute)
		synctest.Wait()
		if api == nil {
			t.Error("it does not join by the certificate that it got")
		}
	})
}

func TestFaultyWayToTheClusterIsReportedAtTheStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubelet.conf")
	if _, err := New(lonely(file)); err == nil {
		t.Error("a file that is not there is no trouble")
	}
	certify(t, file, time.Hour)
	labelled := lonely(file)
	labelled.Labels = map[string]string{"node-role.kubernetes.io/x": ""}
	if _, err := New(labelled); err == nil {
		t.Error("labels that the cluster would refuse are no trouble")
	}
}
