package auth

import (
	"crypto/tls"
	"fmt"
)

// Files are the files of credentials that the configuration names. What they hold is read again as it changes.
type Files struct {
	CertFile, KeyFile string // of the serving certificate
	ClientCAFile      string // of authorities whose client certificates count; empty for none
}

// Exchange reads other files, and returns a function that puts them in the place of those before. What the old
// authorities alone have let in ends with them.
func (a *Authenticator) Exchange(f Files) (use func(), err error) {
	if _, err := tls.LoadX509KeyPair(f.CertFile, f.KeyFile); err != nil {
		return nil, fmt.Errorf("load serving certificate: %w", err)
	}
	if _, err := loadTrust(a.cfg.CAFile, f.ClientCAFile); err != nil {
		return nil, err
	}
	return func() {
		a.files.Store(&f)
		if serving := a.served.Load(); serving != nil {
			serving.outdate()
		}
		a.reconsider()
		select {
		case a.moved <- struct{}{}:
		default: // Watch has yet to take the files before
		}
	}, nil
}
