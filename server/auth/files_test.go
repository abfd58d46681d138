package auth

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"
)

func TestOtherFilesTakeThePlaceOfThoseBefore(t *testing.T) {
	first, alice := foreign(t, "nodal:admin")
	second, bob := foreign(t, "nodal:admin")
	f := newFixture(t, func(c *Config) { c.ClientCAFile = first })
	config, err := f.TLS(nil)
	if err != nil {
		t.Fatal(err)
	}
	counts := func(who string) bool {
		certs := alice
		if who == "bob" {
			certs = bob
		}
		_, err := f.identify(t.Context(), evidence{certs: certs})
		return err == nil
	}
	served := func() string {
		now, err := config.GetConfigForClient(&tls.ClientHelloInfo{})
		if err != nil {
			t.Fatal(err)
		}
		return now.Certificates[0].Leaf.Subject.CommonName
	}
	own := served()
	if !counts("alice") || counts("bob") {
		t.Fatal("want alice alone at first")
	}
	for _, wrong := range []Files{
		{f.material.CertFile, f.material.KeyFile, filepath.Join(t.TempDir(), "missing")},
		{f.material.CertFile, filepath.Join(filepath.Dir(second), "alice.key"), second},
	} {
		if _, err := f.Exchange(wrong); err == nil {
			t.Errorf("%+v may be used", wrong)
		}
	}
	base := filepath.Join(filepath.Dir(second), "alice")
	use, err := f.Exchange(Files{base + ".crt", base + ".key", second})
	if err != nil {
		t.Fatal(err)
	}
	if !counts("alice") || counts("bob") {
		t.Error("the files count before they are used")
	}
	use()
	if counts("alice") || !counts("bob") {
		t.Error("want bob alone with the other authority")
	}
	if own == "alice" {
		t.Fatal("the node's own certificate is alice's")
	}
	if got := served(); got != "alice" {
		t.Errorf("the certificate of %s is served, want that of the other file at once", got)
	}
	if use, err = f.Exchange(Files{f.material.CertFile, f.material.KeyFile, ""}); err != nil {
		t.Fatal(err)
	}
	if use(); counts("bob") {
		t.Error("without an authority bob counts")
	}
}

func TestAWatchFollowsFilesToOtherDirectories(t *testing.T) {
	f := watched(t)
	file, certs := foreign(t, "nodal:admin")
	use, err := f.Exchange(Files{f.material.CertFile, f.material.KeyFile, file})
	if err != nil {
		t.Fatal(err)
	}
	use()
	eventually(t, "a caller of the authority", func() bool {
		_, err := f.identify(t.Context(), evidence{certs: certs})
		return err == nil
	})
	eventually(t, "a watch of its directory", func() bool { return len(f.moved) == 0 })
	other, _ := foreign(t, "nodal:admin")
	pem, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, pem, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an end of what the authority before had let in", func() bool {
		_, err := f.identify(t.Context(), evidence{certs: certs})
		return err != nil
	})
}
