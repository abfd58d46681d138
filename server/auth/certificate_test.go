package auth

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func TestAClientCertificateIsAnIdentityOverHTTP(t *testing.T) {
	f := newFixture(t, nil)
	config, err := f.TLS(nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(f.HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, _ := From(r.Context())
		io.WriteString(w, id.Name)
	})))
	server.Listener = tls.NewListener(server.Listener, config)
	server.Start()
	defer server.Close()

	_, unknown := foreignPair(t)
	base := filepath.Join(f.root, "credentials", "viewer")
	viewer, err := tls.LoadX509KeyPair(base+".crt", base+".key")
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		cert []tls.Certificate
		code int
		body string
	}{
		{"a certificate of ours is known", []tls.Certificate{viewer}, 200, "viewer"},
		{"an unknown one is answered, not cut off", []tls.Certificate{unknown}, 401, "Unauthorized"},
		{"none is unauthorized", nil, 401, "Unauthorized"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			transport := &http.Transport{TLSClientConfig: &tls.Config{
				RootCAs: f.pool(t),
				// GetClientCertificate sends it even if the server names no such authority.
				GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
					if c.cert == nil {
						return &tls.Certificate{}, nil
					}
					return &c.cert[0], nil
				},
			}}
			defer transport.CloseIdleConnections()
			resp, err := (&http.Client{Transport: transport}).Get("https://" + server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != c.code || string(body) != c.body {
				t.Errorf("got %d %q %v, want %d %q", resp.StatusCode, body, err, c.code, c.body)
			}
		})
	}
}

func (f *fixture) pool(t *testing.T) *x509.CertPool {
	t.Helper()
	pool := x509.NewCertPool()
	ca, err := os.ReadFile(f.material.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	pool.AppendCertsFromPEM(ca)
	return pool
}

func foreignPair(t *testing.T) (caFile string, client tls.Certificate) {
	t.Helper()
	caFile, _ = foreign(t, "nodal:admin")
	base := filepath.Join(filepath.Dir(caFile), "alice")
	client, err := tls.LoadX509KeyPair(base+".crt", base+".key")
	if err != nil {
		t.Fatal(err)
	}
	return caFile, client
}

func TestNewCertificatesAreServedWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		config, err := f.TLS(nil)
		if err != nil {
			t.Fatal(err)
		}
		served := func(name string) error {
			now, err := config.GetConfigForClient(nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = now.Certificates[0].Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: f.pool(t), CurrentTime: time.Now()})
			return err
		}
		for _, name := range []string{"node-1", "10.0.0.7", "localhost", "127.0.0.1", "::1"} {
			if err := served(name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := Bootstrap(Dirs{Root: f.root}, []string{"node-2"}, time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // of the bubble's clock
		if err := served("node-2"); err != nil {
			t.Errorf("the new name: %v", err)
		}
		if served("node-1") == nil {
			t.Error("the old name is still served")
		}
		if err := os.Remove(f.material.KeyFile); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := served("node-2"); err != nil {
			t.Errorf("half a pair took the other away: %v", err)
		}
	})
}

func TestAReplacedAuthorityIsTrustedWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caFile, alice := foreign(t, "system:masters")
		_, bob := foreign(t, "system:masters")
		f := newFixture(t, func(c *Config) { c.ClientCAFile = caFile })
		if _, err := f.identify(t.Context(), evidence{certs: alice}); err != nil {
			t.Errorf("before: %v", err)
		}
		if _, err := f.identify(t.Context(), evidence{certs: bob}); err == nil {
			t.Error("before: another authority's certificate is trusted")
		}
		other, carol := foreign(t, "system:masters")
		if err := os.Rename(other, caFile); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := f.identify(t.Context(), evidence{certs: carol}); err != nil {
			t.Errorf("after: %v", err)
		}
		if _, err := f.identify(t.Context(), evidence{certs: alice}); err == nil {
			t.Error("after: the old authority is still trusted")
		}
	})
}

func TestTheHandshakeKeepsToTheVersionsAndSuites(t *testing.T) {
	const sealed, unsealed = tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA
	f := newFixture(t, nil)
	for _, c := range []struct {
		name           string
		server, client *tls.Config
		want           bool
	}{
		{"1.2 where it is welcome", &tls.Config{CipherSuites: []uint16{sealed}}, &tls.Config{MaxVersion: tls.VersionTLS12}, true},
		{"1.2 where it is not", &tls.Config{MinVersion: tls.VersionTLS13}, &tls.Config{MaxVersion: tls.VersionTLS12}, false},
		{"1.3 where it has to be", &tls.Config{MinVersion: tls.VersionTLS13}, &tls.Config{}, true},
		{"a suite that is not listed", &tls.Config{CipherSuites: []uint16{sealed}},
			&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{unsealed}}, false},
		{"a curve that is not listed", &tls.Config{CurvePreferences: []tls.CurveID{tls.CurveP256}},
			&tls.Config{CurvePreferences: []tls.CurveID{tls.X25519}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, err := f.TLS(c.server)
			if err != nil {
				t.Fatal(err)
			}
			here, there := net.Pipe()
			defer here.Close()
			defer there.Close()
			go tls.Server(there, config).Handshake()
			c.client.InsecureSkipVerify = true
			if err := tls.Client(here, c.client).Handshake(); (err == nil) != c.want {
				t.Errorf("got %v, want a handshake: %t", err, c.want)
			}
		})
	}
}
