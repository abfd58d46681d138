package auth

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	organisationPrefix = "nodal:"
	namespacePrefix    = "nodal:namespace:"
	authenticatedGroup = "system:authenticated"
	mastersGroup       = "system:masters"
)

// trust holds the authorities whose client certificates count, as their files had them at
// one moment. Verified chains are remembered only as long as the trust itself lives, so a
// replaced authority shows within one reread.
type trust struct {
	own, client *x509.CertPool
	hints       *x509.CertPool // both, so that a browser offers no other certificate

	seen sync.Map // digest of a chain -> proven
}

func loadTrust(ownFile, clientFile string) (*trust, error) {
	t := &trust{own: x509.NewCertPool(), client: x509.NewCertPool(), hints: x509.NewCertPool()}
	for _, f := range []struct {
		name string
		pool *x509.CertPool
	}{{ownFile, t.own}, {clientFile, t.client}} {
		if f.name == "" {
			continue
		}
		pem, err := os.ReadFile(f.name)
		if err != nil {
			return nil, fmt.Errorf("read certificate authority: %w", err)
		}
		if !f.pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read certificate authority %s: no certificate in it", f.name)
		}
		t.hints.AppendCertsFromPEM(pem)
	}
	return t, nil
}

// proven is the identity of a chain that was verified.
type proven struct {
	Identity
	own bool // it is of the agent's own authority
}

// identify verifies a chain against the agent's own authority, then the configured one. Only certificates of the former
// can be revoked here.
func (t *trust) identify(chain []*x509.Certificate, revoked revokedList, now time.Time) (Identity, error) {
	found, err := t.verified(chain, now)
	if err == nil && found.own {
		err = revoked.check(chain)
	}
	if err != nil {
		return Identity{}, err
	}
	return found.Identity, nil
}

func (t *trust) verified(chain []*x509.Certificate, now time.Time) (proven, error) {
	digest := chainDigest(chain)
	if known, ok := t.seen.Load(digest); ok && !now.After(chain[0].NotAfter) {
		return known.(proven), nil
	}
	id := proven{Identity: Identity{
		Name:       chain[0].Subject.CommonName,
		Groups:     append(slices.Clone(chain[0].Subject.Organization), authenticatedGroup),
		Via:        viaCertificate,
		Credential: serialOf(chain[0]),
	}}
	switch err := verify(chain, t.own, now); {
	case err == nil:
		id.own = true
		id.Role, id.Namespaces = rightsOf(chain[0])
	case verify(chain, t.client, now) == nil:
		if slices.Contains(chain[0].Subject.Organization, mastersGroup) {
			id.Role = RoleAdmin
		}
	default:
		return proven{}, err
	}
	t.seen.Store(digest, id)
	return id, nil
}

func verify(chain []*x509.Certificate, roots *x509.CertPool, now time.Time) error {
	intermediates := x509.NewCertPool()
	for _, c := range chain[1:] {
		intermediates.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots:         roots,
		Intermediates: intermediates,
		CurrentTime:   now,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

// rightsOf reads the role of a certificate of the agent's own authority, and the namespaces to which it is narrowed. One
// that is narrowed in a way that does not hold gives no role.
func rightsOf(cert *x509.Certificate) (Role, []string) {
	var namespaces []string
	for _, unit := range cert.Subject.OrganizationalUnit {
		if namespace, ok := strings.CutPrefix(unit, namespacePrefix); ok {
			namespaces = append(namespaces, namespace)
		}
	}
	for _, o := range cert.Subject.Organization {
		name, ok := strings.CutPrefix(o, organisationPrefix)
		if role := Role(name); ok && Allow(role, Read) && checkNarrowed(role, namespaces) == nil {
			return role, namespaces
		}
	}
	return RoleNone, nil
}

func chainDigest(chain []*x509.Certificate) [sha256.Size]byte {
	h := sha256.New()
	for _, c := range chain {
		h.Write(c.Raw) // DER says its own length, so the boundaries are in the digest
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// serving are the files of the serving certificate.
func (a *Authenticator) serving() (certFile, keyFile string) {
	if _, err := os.Stat(a.cfg.ServingFile); a.cfg.ServingFile != "" && err == nil {
		return a.cfg.ServingFile, a.cfg.ServingFile
	}
	f := a.files.Load()
	return f.CertFile, f.KeyFile
}

// Expires is when the serving certificate runs out; zero if it cannot be read.
func (a *Authenticator) Expires() time.Time {
	cert, err := tls.LoadX509KeyPair(a.serving())
	if err != nil {
		return time.Time{}
	}
	return cert.Leaf.NotAfter
}

// TLS returns the server's configuration. base, which may be nil, sets versions and
// cipher suites. The serving certificate and the authorities are read again as their
// files change. A client certificate is asked for, never demanded, and verified by
// identify, so that a wrong one gets an answer of 401 and not a broken handshake.
func (a *Authenticator) TLS(base *tls.Config) (*tls.Config, error) {
	serving, err := newReread(a.log, nil, func() (*tls.Certificate, error) {
		cert, err := tls.LoadX509KeyPair(a.serving())
		if err != nil {
			return nil, fmt.Errorf("load serving certificate: %w", err)
		}
		return &cert, nil
	})
	if err != nil {
		return nil, err
	}
	a.served.Store(serving)
	if base == nil {
		base = &tls.Config{}
	}
	base = base.Clone()
	base.MinVersion = max(base.MinVersion, tls.VersionTLS12)
	base.ClientAuth = tls.RequestClientCert
	base.NextProtos = []string{"h2", "http/1.1"}

	outer := base.Clone()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := time.Now()
		config := base.Clone()
		config.Certificates = []tls.Certificate{*serving.get(now)}
		config.ClientCAs = a.trust.get(now).hints
		return config, nil
	}
	return outer, nil
}
