package probe

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

const (
	userAgent     = "kube-probe/" + node.KubernetesMinor // access logs are filtered by it
	mostBody      = 10 << 10
	mostHeaders   = 1 << 20
	mostRedirects = 10
)

// newTransport makes a transport without a proxy and without idle connections. It does not verify certificates, since
// pods seldom have valid ones.
func newTransport(dial dialFunc) *http.Transport {
	return &http.Transport{
		DialContext:            dial,
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: true},
		ForceAttemptHTTP2:      true,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: mostHeaders,
	}
}

// get makes an HTTP request: any status from 200 up to 399 is a success.
func (r reach) get(ctx context.Context, probe node.Probe, timeout time.Duration) answer {
	at, err := place(probe.Address, probe.Ports, probe.Spec.HTTPGet.Host, probe.Spec.HTTPGet.Port)
	if err != nil {
		return unasked(err)
	}
	request, err := newRequest(ctx, probe.Spec.HTTPGet, at, userAgent)
	if err != nil {
		return unasked(err)
	}
	client := r.client(probe.Spec.HTTPGet)
	client.Timeout = timeout
	response, err := client.Do(request)
	if err != nil {
		return broken(err)
	}
	defer response.Body.Close()
	// Read the answer: a server that is cut off in the middle of one would log an error. An
	// answer that breaks off counts neither for nor against the container.
	var body bytes.Buffer
	read := io.Discard
	if response.StatusCode >= 300 && response.StatusCode < 400 { // it is shown
		read = &body
	}
	if _, err := io.CopyN(read, response.Body, mostBody); err != nil && !errors.Is(err, io.EOF) {
		return unasked(fmt.Errorf("GET %s: read the answer: %w", request.URL, err))
	}
	switch status := response.StatusCode; {
	case status < 200 || status >= 400:
		return fails("HTTP probe failed with statuscode: %d (GET %s)", status, request.URL)
	case status >= 300:
		shown := body.String()
		if to := response.Header.Get("Location"); to != "" && strings.TrimSpace(shown) == "" { // Kubernetes says nothing then
			shown = "none; it leads to " + to
		}
		return answer{passing, "Probe terminated redirects, Response body: " + shown}
	}
	return answer{verdict: passing}
}

func (r reach) client(get *corev1.HTTPGetAction) *http.Client {
	client := &http.Client{Transport: r.http, CheckRedirect: sameHost}
	if get.Protocol != nil && *get.Protocol == corev1.HTTPProtocolHTTP2 {
		client.Transport = r.http2
	}
	return client
}

func newRequest(ctx context.Context, get *corev1.HTTPGetAction, at, agent string) (*http.Request, error) {
	target, err := url.Parse(get.Path)
	if err != nil {
		target = &url.URL{Path: get.Path}
	}
	target.Scheme, target.Host = strings.ToLower(string(cmp.Or(get.Scheme, corev1.URISchemeHTTP))), at
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", agent)
	request.Header.Set("Accept", "*/*")
	setHeaders(request, get.HTTPHeaders)
	return request, nil
}

// setHeaders replaces our headers by those of the manifest. Where the manifest has an empty one, ours is left out.
func setHeaders(request *http.Request, given []corev1.HTTPHeader) {
	for _, h := range given {
		request.Header.Del(h.Name)
	}
	for _, h := range given {
		request.Header.Add(h.Name, h.Value)
	}
	if request.Header.Get("Accept") == "" {
		request.Header.Del("Accept")
	}
	request.Host = request.Header.Get("Host")
}

var errRedirects = fmt.Errorf("stopped after %d redirects", mostRedirects)

// sameHost follows redirects as long as they lead to the host that was asked.
func sameHost(next *http.Request, past []*http.Request) error {
	switch {
	case next.URL.Hostname() != past[0].URL.Hostname():
		return http.ErrUseLastResponse
	case len(past) >= mostRedirects:
		return errRedirects
	}
	return nil
}
