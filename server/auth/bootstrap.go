package auth

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"nodal/host/replace"
)

// Dirs says where credentials live.
type Dirs struct {
	Root string
	// Cert is upstream's --cert-dir: kubelet.crt and kubelet.key there are served, and
	// made if missing. Empty means Root/pki/serving.*.
	Cert string
}

// Material names the files with the agent's own credentials. tlsCertFile and
// tlsPrivateKeyFile of the configuration replace CertFile and KeyFile.
type Material struct {
	CAFile      string
	CertFile    string
	KeyFile     string
	TokenDir    string
	SessionFile string // of browsers; empty: they end with the agent

	TokenUseFile string // when tokens were last used; empty: that ends with the agent
	IssuedFile   string // the client certificates that the node has issued
	RevokedFile  string // those that no longer count
}

// Bootstrap creates what is missing, expired, about to expire or out of date, and keeps
// the rest. hosts are the node's names and addresses. Call it daily.
func Bootstrap(dirs Dirs, hosts []string, now time.Time) (*Material, error) {
	pki := filepath.Join(dirs.Root, "pki")
	credentials := filepath.Join(dirs.Root, "credentials")
	m := &Material{
		CAFile:   filepath.Join(pki, "ca.crt"),
		CertFile: filepath.Join(pki, "serving.crt"),
		KeyFile:  filepath.Join(pki, "serving.key"),
		TokenDir: filepath.Join(pki, "tokens"),

		SessionFile: filepath.Join(pki, "sessions.json"),

		TokenUseFile: filepath.Join(pki, "token-uses.json"),
		IssuedFile:   filepath.Join(pki, "issued.json"),
		RevokedFile:  filepath.Join(pki, "revoked.json"),
	}
	if dirs.Cert != "" {
		m.CertFile, m.KeyFile = filepath.Join(dirs.Cert, "kubelet.crt"), filepath.Join(dirs.Cert, "kubelet.key")
	}
	if err := os.MkdirAll(dirs.Root, 0o750); err != nil {
		return nil, fmt.Errorf("make credentials: %w", err)
	}
	for _, dir := range []string{m.TokenDir, credentials, filepath.Dir(m.CertFile)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make credentials: %w", err)
		}
	}
	ca, err := ensureAuthority(m.CAFile, filepath.Join(pki, "ca.key"), now)
	if err != nil {
		return nil, fmt.Errorf("make certificate authority: %w", err)
	}
	if err := ensureServing(m, ca, hosts, now); err != nil {
		return nil, fmt.Errorf("make serving certificate: %w", err)
	}
	var issued []*x509.Certificate
	for _, role := range []Role{RoleAdmin, RoleOperator, RoleViewer} {
		base := filepath.Join(credentials, string(role))
		client, err := ensureClient(base, role, ca, now)
		if err := errors.Join(err, ensureToken(base, m.TokenDir, role, now)); err != nil {
			return nil, fmt.Errorf("make %s credentials: %w", role, err)
		}
		issued = append(issued, client.cert)
	}
	return m, recordIssued(m.IssuedFile, now, issued...)
}

func ensureAuthority(certFile, keyFile string, now time.Time) (*pair, error) {
	ca, err := loadPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	if ca.fresh(now) {
		return ca, nil
	}
	slog.Info("creating a certificate authority; clients need its certificate", "file", certFile)
	return issue(authorityTemplate(now), nil, certFile, keyFile, now)
}

// ensureServing issues the serving certificate if it is missing, stale, or for other hosts.
// It keeps a certificate that another authority issued, because the owner renews that one.
func ensureServing(m *Material, ca *pair, hosts []string, now time.Time) error {
	have, err := loadPair(m.CertFile, m.KeyFile)
	if err != nil {
		return err
	}
	if have != nil && have.cert.Issuer.CommonName != authorityName {
		return nil
	}
	want := servingTemplate(hosts, now)
	if have.fresh(now) && have.signedBy(ca) && sameNames(have.cert, want) {
		return nil
	}
	_, err = issue(want, ca, m.CertFile, m.KeyFile, now)
	return err
}

func ensureClient(base string, role Role, ca *pair, now time.Time) (*pair, error) {
	have, err := loadPair(base+".crt", base+".key")
	if err != nil {
		return nil, err
	}
	if have.fresh(now) && have.signedBy(ca) {
		return have, nil
	}
	return issue(clientTemplate(role, now), ca, base+".crt", base+".key", now)
}

// ensureToken issues a token if the user's file is missing. A file without a record is a
// revoked token, and stays revoked. The record is written first: a crash in between leaves
// no file, so the next start issues another token.
func ensureToken(base, dir string, role Role, now time.Time) error {
	_, err := os.Lstat(base + ".token")
	if err == nil {
		return nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	token, err := Issue(dir, string(role), role, now)
	if err != nil {
		return err
	}
	return replace.File(base+".token", []byte(token+"\n"), 0o600)
}
