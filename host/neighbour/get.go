package neighbour

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"nodal/node"
)

const (
	// patience bounds how long a node may take to answer. An answer may last.
	patience = 10 * time.Second
	// mostWords bounds the words about a token, in bytes.
	mostWords = 64 << 10
	// trusted bounds how long a look at a token holds: its role may change there.
	trusted = 30 * time.Second
)

// peer is one node of the file.
type peer struct {
	name, url, token string
	client           *http.Client

	mu     sync.Mutex
	looked time.Time // when the token was seen to be a viewer's; zero: never
}

// clientFor trusts the authority in PEM alone, or those of the machine if there is none.
func clientFor(authority string) (*http.Client, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if authority != "" {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM([]byte(authority)) {
			return nil, errors.New("the authority holds no certificate in PEM; give pki/ca.crt of the node's directory")
		}
	}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:           (&net.Dialer{Timeout: patience}).DialContext,
			TLSClientConfig:       trust,
			TLSHandshakeTimeout:   patience,
			ResponseHeaderTimeout: patience,
			IdleConnTimeout:       time.Minute,
			ForceAttemptHTTP2:     true,
			// Without pings, a watch of a node that is gone without a word would wait for it without end.
			HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: patience},
			Proxy: nil, // a proxy of the environment would see where the nodes are
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// Get asks a node for a path with its query, and takes the answer in one of these types. The answer lasts as long as ctx.
// An error that wraps node.ErrNotFound says that the file has no node of that name.
func (b *Book) Get(ctx context.Context, name, path, accept string) (*http.Response, error) {
	peers, err := b.present()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(peers, func(p *peer) bool { return p.name == name })
	if i < 0 {
		return nil, fmt.Errorf("node %q: --nodes-file has none of that name: %w", name, node.ErrNotFound)
	}
	p := peers[i]
	if err := p.isViewer(ctx, b.now()); err != nil {
		return nil, fmt.Errorf("node %q: %w", name, err)
	}
	answer, err := p.get(ctx, path, accept)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", name, err)
	}
	if answer.StatusCode == http.StatusUnauthorized {
		answer.Body.Close()
		p.doubt()
		return nil, fmt.Errorf("node %q: %w", name, errUnknownToken)
	}
	return answer, nil
}

var errUnknownToken = errors.New("it does not know the token of --nodes-file any more; make another for a viewer there")

func (p *peer) get(ctx context.Context, path, accept string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	r.Header.Set("Accept", accept)
	return p.client.Do(r)
}

// isViewer refuses a token by which users of this node would see what only operators and admins of the other may.
func (p *peer) isViewer(ctx context.Context, now time.Time) error {
	p.mu.Lock()
	known := !p.looked.IsZero() && now.Sub(p.looked) < trusted
	p.mu.Unlock()
	if known {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := p.get(ctx, "/ui/session", "application/json")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusUnauthorized {
		return errUnknownToken
	}
	var who struct{ Role string }
	if err := json.NewDecoder(io.LimitReader(answer.Body, mostWords)).Decode(&who); err != nil || answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it does not answer as a node does (HTTP %d)", answer.StatusCode)
	}
	if who.Role != "viewer" {
		return fmt.Errorf("the token of --nodes-file has the role %q there, by which all users of this node would see; give one of a viewer", who.Role)
	}
	p.mu.Lock()
	p.looked = now
	p.mu.Unlock()
	return nil
}

// doubt has the token looked at again.
func (p *peer) doubt() {
	p.mu.Lock()
	p.looked = time.Time{}
	p.mu.Unlock()
}
