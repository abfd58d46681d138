package auth

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	"nodal/host/replace"
)

// issuedCertificate is the record of a client certificate that Bootstrap has issued.
type issuedCertificate struct {
	Name    string    `json:"name"`
	Role    Role      `json:"role"`
	Expires time.Time `json:"expires"`
}

// issuedList holds the client certificates that the node has issued, by serial number. It tells an admin what may be
// revoked; no caller is admitted by it.
type issuedList map[string]issuedCertificate

func loadIssued(file string) (issuedList, error) {
	list := issuedList{}
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return list, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("read issued certificates %s: %w", file, err)
	}
	return list, nil
}

// recordIssued adds certificates to the list, and drops those that have expired.
func recordIssued(file string, now time.Time, certs ...*x509.Certificate) error {
	before, err := loadIssued(file)
	if err != nil {
		before = issuedList{} // a damaged list, which is rewritten, keeps no agent from starting
	}
	list := maps.Clone(before)
	for _, c := range certs {
		role, _ := rightsOf(c)
		list[serialOf(c)] = issuedCertificate{Name: c.Subject.CommonName, Role: role, Expires: c.NotAfter}
	}
	maps.DeleteFunc(list, func(_ string, c issuedCertificate) bool { return now.After(c.Expires) })
	if err == nil && maps.Equal(list, before) {
		return nil
	}
	data, err := json.Marshal(list)
	if err == nil {
		err = replace.File(file, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("record issued certificates: %w", err)
	}
	return nil
}
