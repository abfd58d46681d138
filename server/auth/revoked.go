package auth

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"time"

	"nodal/host/replace"
	"nodal/node"
)

// revokedCertificate is the record of a certificate that no longer counts.
type revokedCertificate struct {
	Revoked time.Time `json:"revoked"`
	By      string    `json:"by,omitempty"`
}

// revokedList holds the revoked certificates of the node's own authority, by serial number.
type revokedList map[string]revokedCertificate

// errRevoked answers a caller that shows a revoked certificate.
var errRevoked = errors.New("the certificate was revoked")

// check returns an error if the chain holds a revoked certificate.
func (l revokedList) check(chain []*x509.Certificate) error {
	if len(l) == 0 {
		return nil
	}
	for _, c := range chain {
		if _, ok := l[serialOf(c)]; ok {
			return errRevoked
		}
	}
	return nil
}

func loadRevoked(file string) (*revokedList, error) {
	list := revokedList{}
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return &list, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("read revoked certificates %s: %w", file, err)
	}
	return &list, nil
}

func serialOf(c *x509.Certificate) string { return c.SerialNumber.Text(16) }

// parseSerial reads a serial number as openssl and browsers print it: hexadecimal, perhaps with colons.
func parseSerial(text string) (string, error) {
	digits := strings.TrimPrefix(strings.ToLower(strings.ReplaceAll(text, ":", "")), "0x")
	n, ok := new(big.Int).SetString(digits, 16)
	if !ok || n.Sign() <= 0 || len(digits) > 64 {
		return "", fmt.Errorf("serial number %q: want the hexadecimal digits of a certificate, as in 1f:a0 or 1fa0: %w", text, node.ErrInvalid)
	}
	return n.Text(16), nil
}

// Certificate is a client certificate as an admin sees it.
type Certificate struct {
	Serial    string // in hexadecimal
	Name      string // empty if the node does not know it
	Role      Role
	Expires   time.Time
	Revoked   time.Time // zero: it counts
	RevokedBy string
}

// Certificates returns the client certificates that the node has issued, and those that were revoked, by serial number.
func (a *Authenticator) Certificates() ([]Certificate, error) {
	issued, err := loadIssued(a.cfg.IssuedFile)
	if err != nil {
		return nil, err
	}
	bySerial := map[string]Certificate{}
	for serial, c := range issued {
		bySerial[serial] = Certificate{Serial: serial, Name: c.Name, Role: c.Role, Expires: c.Expires}
	}
	for serial, r := range *a.revoked.get(time.Now()) {
		c := bySerial[serial]
		c.Serial, c.Revoked, c.RevokedBy = serial, r.Revoked, r.By
		bySerial[serial] = c
	}
	var all []Certificate
	for _, c := range bySerial {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Certificate) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Serial, b.Serial))
	})
	return all, nil
}

// RevokeCertificate revokes a client certificate of the node's own authority, also one that the node does not list. It
// opens nothing more, and what it has opened ends before RevokeCertificate returns.
func (a *Authenticator) RevokeCertificate(ctx context.Context, serial string) (Certificate, error) {
	serial, err := parseSerial(serial)
	if err != nil {
		return Certificate{}, err
	}
	a.issuing.Lock()
	defer a.issuing.Unlock()
	now := time.Now()
	list, err := loadRevoked(a.cfg.RevokedFile)
	if err != nil {
		return Certificate{}, err
	}
	if _, ok := (*list)[serial]; !ok {
		by, _ := From(ctx)
		(*list)[serial] = revokedCertificate{now.UTC(), by.Name}
		data, err := json.Marshal(list)
		if err == nil {
			err = replace.File(a.cfg.RevokedFile, append(data, '\n'), 0o600)
		}
		if err != nil {
			return Certificate{}, fmt.Errorf("revoke certificate %s: %w", serial, err)
		}
	}
	a.revoked.renew(now)
	a.standing.check()
	all, err := a.Certificates()
	if at := slices.IndexFunc(all, func(c Certificate) bool { return c.Serial == serial }); at >= 0 {
		return all[at], nil
	}
	return Certificate{}, errors.Join(fmt.Errorf("certificate %s: it was revoked, but its record cannot be read", serial), err)
}
