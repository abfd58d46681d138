package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"nodal/agent/config"
	"nodal/server/auth"
)

// identityIn returns the identity of node n1, whose files lie in a directory.
func identityIn(dir string) identity {
	dirs := config.Dirs{Root: dir, Cert: filepath.Join(dir, "pki")}
	return newIdentity("n1", []string{"192.0.2.1"}, dirs, slog.New(slog.DiscardHandler))
}

func TestClientsKnowTheNodeByItsNamesAndAddresses(t *testing.T) {
	leaf := serving(t, t.TempDir())
	for _, host := range []string{"n1", "localhost", "127.0.0.1", "::1", "192.0.2.1"} {
		if err := leaf.VerifyHostname(host); err != nil {
			t.Errorf("as %s: %v", host, err)
		}
	}
}

// serving makes the guard of an identity and returns the certificate that its API serves with.
func serving(t *testing.T, dir string) *x509.Certificate {
	t.Helper()
	var used auth.Config
	if _, err := identityIn(dir).guard(config.Auth{}, "", func(c *auth.Config) { used = *c }); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(used.CertFile, used.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}

func TestGuardHasTheConfiguredSettings(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		auth config.Auth
		has  func(auth.Config) bool
	}{
		{"its own certificate", config.Auth{}, func(c auth.Config) bool { return c.CertFile == filepath.Join(dir, "pki/kubelet.crt") }},
		{"a given certificate", config.Auth{TLSCertFile: "/a", TLSKeyFile: "/b"},
			func(c auth.Config) bool { return c.CertFile == "/a" && c.KeyFile == "/b" }},
		{"roles", config.Auth{}, func(c auth.Config) bool { return !c.AlwaysAllow && !c.Anonymous }},
		{"everything for everyone", config.Auth{Mode: config.AuthAlwaysAllow, Anonymous: true},
			func(c auth.Config) bool { return c.AlwaysAllow && c.Anonymous }},
		{"a cluster's answers", config.Auth{Mode: config.AuthWebhook}, func(c auth.Config) bool { return !c.AlwaysAllow }},
		{"the socket", config.Auth{}, func(c auth.Config) bool { return c.SocketPath == "/run/node.sock" }},
	} {
		var used auth.Config
		_, err := identityIn(dir).guard(c.auth, "/run/node.sock", func(c *auth.Config) { used = *c })
		if err != nil || !c.has(used) {
			t.Errorf("%s: got %+v, %v", c.name, used, err)
		}
	}
}

func TestCertificatesAreRenewedUnderARunningAgent(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first := serving(t, dir)
		time.Sleep(340 * 24 * time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), 36*time.Hour)
		defer cancel()
		identityIn(dir).renew(ctx, func(_ time.Duration, err error) { t.Errorf("renewal failed: %v", err) })
		if next := serving(t, dir); !next.NotAfter.After(first.NotAfter) {
			t.Errorf("in its last month the certificate still ends at %s", next.NotAfter)
		}
	})
}

func TestFailedRenewalIsCountedEachDay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "root")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Hour)
		defer cancel()
		failed := 0
		identityIn(file).renew(ctx, func(_ time.Duration, err error) {
			if err != nil {
				failed++
			}
		})
		if failed != 2 {
			t.Errorf("%d failures in 60 hours, want 2", failed)
		}
	})
}
