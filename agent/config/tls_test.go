package config

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTLSIsWhatTheFileSays(t *testing.T) {
	cases := []struct {
		name, file string
		want       TLS
		err        string
	}{
		{"by default", "", TLS{MinVersion: tls.VersionTLS12, CipherSuites: sealed}, ""},
		{"all of it", "tlsMinVersion: VersionTLS13\ntlsCipherSuites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]\ntlsCurvePreferences: [29, 23]",
			TLS{tls.VersionTLS13, []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}, []tls.CurveID{tls.X25519, tls.CurveP256}}, ""},
		{"weak suites are the owner's choice", "tlsCipherSuites: [TLS_RSA_WITH_AES_128_CBC_SHA]",
			TLS{MinVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA}}, ""},
		{"no such version", "tlsMinVersion: TLS1.3", TLS{}, "tlsMinVersion"},
		{"a version that the node does not speak", "tlsMinVersion: VersionTLS10", TLS{}, "tlsMinVersion"},
		{"no such suite", "tlsCipherSuites: [TLS_AES_128_GCM_SHA256, AES]", TLS{}, "tlsCipherSuites[1]"},
		{"no such curve", "tlsCurvePreferences: [29, 7]", TLS{}, "tlsCurvePreferences[1]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Load([]string{"--config", write(t, t.TempDir(), "kubelet.yaml", c.file)})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want an error at %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			same := got.Auth.TLS.MinVersion == c.want.MinVersion && slices.Equal(got.Auth.TLS.CipherSuites, c.want.CipherSuites) &&
				slices.Equal(got.Auth.TLS.Curves, c.want.Curves)
			if !same {
				t.Errorf("got %v, want %v", got.Auth.TLS, c.want)
			}
		})
	}
}

func TestSuitesThatCannotBeLeftOutAreNamed(t *testing.T) {
	for file, want := range map[string]string{
		"": "",
		"tlsCipherSuites: [TLS_AES_256_GCM_SHA384]":                                                       "TLS_CHACHA20_POLY1305_SHA256",
		"tlsCipherSuites: [TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384, TLS_CHACHA20_POLY1305_SHA256]": "",
	} {
		got := fmt.Sprint(Unhonoured(load(t, "--config", write(t, t.TempDir(), "kubelet.yaml", file))))
		if (want == "") != !strings.Contains(got, "tlsCipherSuites") || !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q in it", file, got, want)
		}
	}
}
