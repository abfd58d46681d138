package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	"nodal/test/claim"
	"nodal/test/pace"
)

func TestStreamsEndWithTheirToken(t *testing.T) {
	claim.Shows(t, "Access", "a watch, a followed log and a terminal end when the token that opened them is revoked")
	n := start(t)
	n.apply(attachable)
	n.waitRunning("talks")
	config, address := n.streaming("/attach/default/talks/plain?input=1&output=1")
	executor, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, address.String())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(patience))
	defer cancel()
	answers, stdout := io.Pipe()
	input, say := io.Pipe()
	defer say.Close()
	ended := make(chan error, 1)
	go func() {
		ended <- executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: input, Stdout: stdout})
	}()
	fmt.Fprintln(say, "hello")
	lineWith(t, answers, "got hello")
	log := n.opened(ctx, "/v1/namespaces/default/pods/talks/containers/plain/logs?follow=true")
	lineWith(t, log, "got hello")
	watch := n.opened(ctx, "/v1/pods:watch")
	lineWith(t, watch, "talks")

	if err := os.Remove(filepath.Join(n.Root(), "pki/tokens/operator.json")); err != nil {
		t.Fatal(err)
	}
	const why = "the token was revoked"
	lineWith(t, watch, why)
	if _, err := io.ReadAll(log); err == nil {
		t.Error("the log that is cut off looks complete")
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("the terminal ends with %v, want %q", err, why)
	}
	if got := n.curlTLS("operator", "/v1/pods"); got.code != http.StatusUnauthorized {
		t.Errorf("the token still opens: %s", got)
	}
}

// opened returns the body of a stream on the TLS port.
func (n *node) opened(ctx context.Context, path string) *bufio.Reader {
	n.t.Helper()
	config, address := n.streaming(path)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		n.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		n.t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		n.t.Fatalf("%s is answered %s", path, response.Status)
	}
	return bufio.NewReader(response.Body)
}
