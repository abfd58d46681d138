package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/claim"
	"nodal/test/pace"
)

// attachable is a pod of two containers that answer line by line, one of them with a terminal.
const attachable = `apiVersion: v1
kind: Pod
metadata: {name: talks}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: plain
    image: nodal.test/busybox:1
    stdin: true
    command: [sh, -c, "while read line; do echo got $line; done"]
  - name: terminal
    image: nodal.test/busybox:1
    stdin: true
    tty: true
    command: [sh, -c, "while read line; do echo got $line on $(tty); done"]
`

// streaming returns the configuration and the URL of a path on the TLS port, for the client
// libraries of kubectl.
func (n *node) streaming(path string) (*rest.Config, *url.URL) {
	n.t.Helper()
	config := &rest.Config{
		Host: "https://" + n.secure(), BearerToken: n.token("operator"), TLSClientConfig: rest.TLSClientConfig{CAFile: n.CA()},
		Proxy: func(*http.Request) (*url.URL, error) { return nil, nil },
	}
	address, err := url.Parse(config.Host + path)
	if err != nil {
		n.t.Fatal(err)
	}
	return config, address
}

// attached attaches to a container, sends a line, returns the answer, and detaches.
func (n *node) attached(container string, tty, webSocket bool) string {
	n.t.Helper()
	config, address := n.streaming(fmt.Sprintf("/attach/default/talks/%s?input=1&output=1&tty=%t", container, tty))
	executor, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, address)
	if webSocket {
		executor, err = remotecommand.NewWebSocketExecutor(config, http.MethodGet, address.String())
	}
	if err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(n.t.Context(), pace.Of(patience))
	defer cancel()
	answers, stdout := io.Pipe()
	input, say := io.Pipe()
	defer say.Close()
	ended := make(chan error, 1)
	go func() {
		err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: input, Stdout: stdout, Tty: tty})
		stdout.CloseWithError(errors.Join(io.EOF, err))
		ended <- err
	}()
	fmt.Fprintln(say, "hello")
	answer := lineWith(n.t, answers, "got")
	cancel()
	answers.Close()
	<-ended
	return answer
}

// lineWith returns the next line that contains a word.
func lineWith(t *testing.T, from io.Reader, word string) string {
	t.Helper()
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("waited for a line with %q: %v", word, err)
		}
		if strings.Contains(line, word) {
			return strings.TrimSpace(line)
		}
	}
}

func TestClientsAttachToWhatRuns(t *testing.T) {
	claim.Shows(t, "Exec",
		"kubectl's clients attach to a container, over a WebSocket and over SPDY, and leave it running when they detach",
		"a client attaches to a container with a terminal, even an ephemeral one",
		"a gRPC client attaches to a container",
	)
	n := start(t)
	n.apply(attachable)
	before := n.waitRunning("talks")
	for _, webSocket := range []bool{true, false} {
		if got := n.attached("plain", false, webSocket); got != "got hello" {
			t.Errorf("the container answers %q (WebSocket: %t)", got, webSocket)
		}
		if got := n.attached("terminal", true, webSocket); !strings.HasPrefix(got, "got hello on /dev/") {
			t.Errorf("the container with a terminal answers %q (WebSocket: %t)", got, webSocket)
		}
	}
	n.apply(attachable + `  ephemeralContainers:
  - name: debug
    image: nodal.test/busybox:1
    stdin: true
    tty: true
    command: [sh, -c, "while read line; do echo got $line; done"]
`)
	n.wait("talks", "the ephemeral container", func(p *corev1.Pod) bool { return containerStatus(p, "debug").State.Running != nil })
	if got := n.attached("debug", true, true); got != "got hello" {
		t.Errorf("the ephemeral container answers %q", got)
	}

	stream, err := nodev1.NewExecServiceClient(n.conn).Attach(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*nodev1.AttachRequest{
		{Input: &nodev1.AttachRequest_Start{Start: &nodev1.AttachStart{Namespace: "default", Name: "talks", Container: "plain", Stdin: true}}},
		{Input: &nodev1.AttachRequest_Stdin{Stdin: []byte("over gRPC\n")}},
	} {
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	answers, stdout := io.Pipe()
	go func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				stdout.CloseWithError(err)
				return
			}
			_, _ = stdout.Write(m.GetStdout())
		}
	}()
	if got := lineWith(t, answers, "got"); got != "got over gRPC" {
		t.Errorf("over gRPC the container answers %q", got)
	}
	after := n.get("talks")
	for _, name := range []string{"plain", "terminal"} {
		if was, is := containerStatus(before, name), containerStatus(after, name); is.ContainerID != was.ContainerID || is.State.Running == nil {
			t.Errorf("container %s is %+v, want it as before", name, is)
		}
	}
}

// forwarded requests a page from port 8080 of a pod through a forwarded port.
func (n *node) forwarded(dialer httpstream.Dialer) string {
	n.t.Helper()
	stop, ready := make(chan struct{}), make(chan struct{})
	forwarder, err := portforward.NewForStreaming(dialer, []string{"0:8080"}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		n.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	defer func() {
		close(stop)
		if err := <-ended; err != nil {
			n.t.Error(err)
		}
	}()
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		return ""
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		n.t.Fatal(err)
	}
	// No proxy, no shared connection.
	client := &http.Client{Timeout: pace.Of(patience), Transport: &http.Transport{DisableKeepAlives: true}}
	var bodies []string
	for range 2 { // two connections share one upgraded connection
		reply, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/", ports[0].Local))
		if err != nil {
			n.t.Fatal(err)
		}
		body, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil {
			n.t.Fatal(err)
		}
		bodies = append(bodies, string(body))
	}
	return strings.Join(bodies, "")
}

func TestPortsOfAPodAreForwarded(t *testing.T) {
	claim.Shows(t, "Exec",
		"kubectl's clients forward ports of a pod, over SPDY and over SPDY in a WebSocket",
		"a gRPC client forwards a connection to a port of a pod, or gets the reason why it cannot",
	)
	n := start(t)
	n.apply(web("served").yaml())
	n.web(n.waitRunning("served").Status.PodIP)
	config, address := n.streaming("/portForward/default/served")
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		t.Fatal(err)
	}
	inWebSocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(address, config)
	if err != nil {
		t.Fatal(err)
	}
	for name, dialer := range map[string]httpstream.Dialer{
		"SPDY":                spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, address),
		"SPDY in a WebSocket": inWebSocket,
	} {
		if got := n.forwarded(dialer); got != "served\nserved\n" {
			t.Errorf("over %s: got %q, want the pod's name from each of two connections", name, got)
		}
	}
	if got, err := n.forwardedOverGRPC("served", 8080, "GET / HTTP/1.0\r\n\r\n"); err != nil || !strings.HasSuffix(got, "\r\n\r\nserved\n") {
		t.Errorf("over gRPC: got %q, %v", got, err)
	}
	if got, err := n.forwardedOverGRPC("served", 81, ""); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a port without a listener: got %q, %v; want it refused", got, err)
	}
}

// forwardedOverGRPC sends text to a port of a pod and returns the answer.
func (n *node) forwardedOverGRPC(pod string, port int32, say string) (string, error) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), pace.Of(patience))
	defer cancel()
	stream, err := nodev1.NewExecServiceClient(n.conn).PortForward(ctx)
	if err != nil {
		n.t.Fatal(err)
	}
	begin := &nodev1.PortForwardStart{Namespace: "default", Name: pod, Port: port}
	for _, m := range []*nodev1.PortForwardRequest{
		{Input: &nodev1.PortForwardRequest_Start{Start: begin}}, {Input: &nodev1.PortForwardRequest_Data{Data: []byte(say)}},
	} {
		if err := stream.Send(m); err != nil {
			n.t.Fatal(err)
		}
	}
	var answer strings.Builder
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return answer.String(), nil
		}
		if err != nil {
			return answer.String(), err
		}
		answer.Write(m.GetData())
	}
}
