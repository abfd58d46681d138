package source

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"nodal/node"
)

const (
	maxBody      = 10 << 20
	fetchTimeout = 10 * time.Second
	maxRedirects = 3
)

// URLConfig names a place that serves manifests.
type URLConfig struct {
	URL    string
	Header http.Header
	Poll   time.Duration // DefaultPoll when 0
	Sink
}

// URL is a web server as a source of pods: it serves a Pod, a list or a bundle, and is polled. It has delivered once
// the first answer could be read.
type URL struct {
	publisher
	url    string
	header http.Header
	poll   time.Duration
	client *http.Client

	last  reading
	sum   [sha256.Size]byte // of the bytes that last was read from
	retry bool              // as in File
}

// NewURL makes the source; Run starts it.
func NewURL(config URLConfig) (*URL, error) {
	parsed, err := url.Parse(config.URL)
	if err != nil {
		return nil, fmt.Errorf("parse URL of manifests: %w: %w", errors.Unwrap(err), node.ErrInvalid)
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return nil, fmt.Errorf("parse URL of manifests: it must begin with http:// or https:// and name a host: %w", node.ErrInvalid)
	}
	return &URL{
		publisher: publisher{Sink: config.Sink.patient(node.SourceURL), location: withoutSecrets(parsed)},
		url:       config.URL,
		header:    config.Header.Clone(),
		poll:      cmp.Or(config.Poll, DefaultPoll),
		client:    newClient(),
	}, nil
}

// withoutSecrets returns the URL in the form that may be shown. It is also the pods' origin, and so part of their
// identity: a renewed token must not replace them.
func withoutSecrets(u *url.URL) string {
	shown := *u
	shown.User, shown.RawQuery, shown.Fragment = nil, "", ""
	return shown.String()
}

// newClient uses no proxy from the environment, and follows redirects on one host only,
// because the headers may carry credentials.
func newClient() *http.Client {
	return &http.Client{
		Timeout:   fetchTimeout,
		Transport: &http.Transport{TLSHandshakeTimeout: fetchTimeout, MaxIdleConns: 1, ForceAttemptHTTP2: true},
		CheckRedirect: func(next *http.Request, before []*http.Request) error {
			switch {
			case len(before) > maxRedirects:
				return fmt.Errorf("more than %d redirects", maxRedirects)
			case next.URL.Host != before[0].URL.Host || next.URL.Scheme != before[0].URL.Scheme:
				return fmt.Errorf("redirect to another place, %s", withoutSecrets(next.URL))
			}
			return nil
		},
	}
}

// Run delivers what the URL serves, and then every change of it, until ctx is
// done.
func (u *URL) Run(ctx context.Context) error {
	defer u.client.CloseIdleConnections()
	ticker := time.NewTicker(u.poll)
	defer ticker.Stop()
	for {
		u.turn(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (u *URL) turn(ctx context.Context) {
	body, err := u.fetch(ctx)
	now := time.Now()
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		u.fail(cannotRead(err), now)
		return
	}
	sum := sha256.Sum256(body)
	changed := sum != u.sum || u.last.origin == ""
	if changed {
		u.last, u.sum = u.read(u.location, body, now), sum
	}
	switch {
	case u.last.err != nil && len(u.last.deliveries) == 0:
		u.fail(u.last.err, now)
	case changed || u.retry || u.down != "":
		u.retry = !u.deliver(collect(u.last), now)
	default:
		u.Board.Delivered(u.Intake.Source, now, u.standing)
	}
}

func (u *URL) fetch(ctx context.Context) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.url, nil)
	if err != nil {
		return nil, err
	}
	if u.header != nil {
		request.Header = u.header.Clone()
	}
	// net/http takes the host from here, not from the headers.
	request.Host = request.Header.Get("Host")
	response, err := u.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answers %s", response.Status)
	}
	body, err := readAll(response.Body, maxBody)
	if err == nil && len(body) == 0 {
		err = errors.New("the server answers with nothing")
	}
	return body, err
}
