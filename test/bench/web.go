package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// web is an HTTP client for the paths that every kubelet has.
type web struct {
	client *http.Client
	plain  string // base URL of the read-only port
	secure string // base URL of the TLS port
	token  string // for the TLS port; empty: none
}

// open sends a request and returns the body of a successful answer.
func (w *web) open(ctx context.Context, method, url string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	if w.token != "" {
		request.Header.Set("Authorization", "Bearer "+w.token)
	}
	response, err := w.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the kubelet: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("%s %s: %s", method, url, response.Status)
	}
	return response.Body, nil
}

// drain reads an answer to its end and returns its size.
func (w *web) drain(ctx context.Context, method, url string) (int64, error) {
	body, err := w.open(ctx, method, url)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	return discard(body)
}

// readyPods returns the number of ready pods in /pods.
func (w *web) readyPods(ctx context.Context) (int, error) {
	body, err := w.open(ctx, http.MethodGet, w.plain+"/pods")
	if err != nil {
		return 0, err
	}
	defer body.Close()
	var pods corev1.PodList
	if err := json.NewDecoder(body).Decode(&pods); err != nil {
		return 0, fmt.Errorf("read /pods: %w", err)
	}
	ready := 0
	for i := range pods.Items {
		if slices.ContainsFunc(pods.Items[i].Status.Conditions, isReady) {
			ready++
		}
	}
	return ready, nil
}

func isReady(c corev1.PodCondition) bool {
	return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
}

// discard reads with a large buffer, which does not slow a fast sender.
func discard(r io.Reader) (int64, error) {
	// The struct hides io.Discard's ReadFrom, which reads 8 KiB at a time.
	return io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, make([]byte, 256<<10))
}

func unixClient(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
}

func localURL(scheme string, port int) string { return scheme + "://127.0.0.1:" + strconv.Itoa(port) }
