package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/cri-streaming/pkg/streaming/portforward"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/claim"
	"nodal/test/pace"
)

// created makes a token by the command line and returns its secret.
func (n *node) created(name string, flags ...string) string {
	n.t.Helper()
	out, failed, code := n.command("", n.Binary, append([]string{"token", "create", name, "--socket", n.Socket}, flags...)...)
	if code != 0 || !strings.HasPrefix(out, "nodal_") {
		n.t.Fatalf("create token %s: got %d %q %q", name, code, out, failed)
	}
	return strings.TrimSpace(out)
}

// with sends a request to the TLS port with a token.
func (n *node) with(secret, path string, args ...string) answer {
	n.t.Helper()
	return n.curlTLS("", path, append(args, "-H", "Authorization: Bearer "+secret)...)
}

// opener opens a request of one kind and returns once it stands. The channel tells how it ended.
type opener func(ctx context.Context, n *node, config *rest.Config) <-chan error

// reading opens a path that answers without end.
func reading(path, first string) opener {
	return func(ctx context.Context, n *node, config *rest.Config) <-chan error {
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			n.t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+path, nil)
		if err != nil {
			n.t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			n.t.Fatal(err)
		}
		lineWith(n.t, response.Body, first)
		return endOf(func() error {
			defer response.Body.Close()
			_, err := io.ReadAll(response.Body)
			return err
		})
	}
}

func endOf(f func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	return ended
}

// attaching opens a terminal with the clients of kubectl.
func attaching(webSocket bool) opener {
	return func(ctx context.Context, n *node, config *rest.Config) <-chan error {
		address, err := url.Parse(config.Host + "/attach/default/talks/plain?input=1&output=1")
		if err != nil {
			n.t.Fatal(err)
		}
		executor, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, address)
		if webSocket {
			executor, err = remotecommand.NewWebSocketExecutor(config, http.MethodGet, address.String())
		}
		if err != nil {
			n.t.Fatal(err)
		}
		answers, stdout := io.Pipe()
		input, say := io.Pipe()
		n.t.Cleanup(func() { say.Close() })
		ended := endOf(func() error {
			return executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: input, Stdout: stdout})
		})
		fmt.Fprintln(say, "hello")
		lineWith(n.t, answers, "got hello")
		go io.Copy(io.Discard, answers)
		return ended
	}
}

// forwarding opens a connection for forwarded ports.
func forwarding(_ context.Context, n *node, config *rest.Config) <-chan error {
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		n.t.Fatal(err)
	}
	address, err := url.Parse(config.Host + "/portForward/default/talks")
	if err != nil {
		n.t.Fatal(err)
	}
	dialer := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, address)
	connection, _, err := dialer.Dial(portforward.ProtocolV1Name)
	if err != nil {
		n.t.Fatal(err)
	}
	return endOf(func() error {
		<-connection.CloseChan()
		return nil
	})
}

// watching opens a watch over gRPC.
func watching(ctx context.Context, n *node, config *rest.Config) <-chan error {
	creds, err := credentials.NewClientTLSFromFile(n.CA(), "")
	if err != nil {
		n.t.Fatal(err)
	}
	conn, err := grpc.NewClient(n.secure(), grpc.WithTransportCredentials(creds))
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { conn.Close() })
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+config.BearerToken)
	stream, err := nodev1.NewPodsServiceClient(conn).WatchPods(ctx, &nodev1.WatchPodsRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	if err != nil {
		n.t.Fatal(err)
	}
	return endOf(func() error {
		for {
			if _, err := stream.Recv(); err != nil {
				if status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "the token was revoked") {
					return fmt.Errorf("got %w, want Unauthenticated and why", err)
				}
				return nil
			}
		}
	})
}

// running has a command run to its end over REST.
func running(ctx context.Context, n *node, config *rest.Config) <-chan error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		n.t.Fatal(err)
	}
	const path = "/v1/namespaces/default/pods/talks/containers/plain:run"
	body := strings.NewReader(`{"command": ["sh", "-c", "touch /tmp/begun; exec sleep 1000"], "timeout": "1000s"}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, config.Host+path, body)
	if err != nil {
		n.t.Fatal(err)
	}
	ended := endOf(func() error {
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusUnauthorized {
			return fmt.Errorf("got %s %s, %w; want 401", response.Status, text, err)
		}
		return nil
	})
	n.eventually("the command runs", func() bool {
		return n.curl("/run/default/talks/plain", "-d", "cmd=ls /tmp/begun").code == http.StatusOK
	})
	return ended
}

func TestARevokedTokenEndsAllThatItHasOpened(t *testing.T) {
	claim.Shows(t, "Access",
		"a token made by the command line opens the API until it is revoked, and everything that it has opened ends within a second",
		"an expired token is refused, and the answer says why",
	)
	n := start(t)
	n.apply(attachable)
	n.waitRunning("talks")
	secret := n.created("ci", "--role", "operator", "--expires", "24h")
	config, _ := n.streaming("")
	config.BearerToken = secret
	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(patience))
	defer cancel()
	ended := map[string]<-chan error{"a terminal over a WebSocket": attaching(true)(ctx, n, config)} // which fills the log
	for name, open := range map[string]opener{
		"a terminal over SPDY":        attaching(false),
		"a followed log":              reading("/v1/namespaces/default/pods/talks/containers/plain/logs?follow=true", "got hello"),
		"a followed log of a kubelet": reading("/containerLogs/default/talks/plain?follow=true", "got hello"),
		"a watch of pods":             reading("/v1/pods:watch", "talks"),
		"a watch of events":           reading("/v1/events:watch", "talks"),
		"a watch of usage":            reading("/v1/stats:watch", "talks"),
		"a watch over gRPC":           watching,
		"forwarded ports":             forwarding,
		"a command to its end":        running,
	} {
		ended[name] = open(ctx, n, config)
	}
	if list, _, _ := n.command("", n.Binary, "token", "list", "--socket", n.Socket); !strings.Contains(list, "ci ") {
		t.Errorf("the list has no token ci: %s", list)
	}
	if _, failed, code := n.command("", n.Binary, "token", "revoke", "ci", "--socket", n.Socket); code != 0 {
		t.Fatalf("revoke: got %d %s", code, failed)
	}
	limit := time.After(pace.Of(time.Second))
	for name, end := range ended {
		select {
		case err := <-end:
			if name == "a watch over gRPC" && err != nil || name == "a command to its end" && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case <-limit:
			t.Errorf("%s goes on after a second", name)
			limit = time.After(0)
		}
	}
	if got := n.with(secret, "/v1/pods"); got.code != http.StatusUnauthorized {
		t.Errorf("the token still opens: %s", got)
	}
	brief := n.created("brief", "--role", "viewer", "--expires", "1ms")
	if got := n.with(brief, "/v1/pods"); got.code != http.StatusUnauthorized || !strings.Contains(got.body, "has expired") {
		t.Errorf("an expired token: got %s, want 401 and why", got)
	}
}

func TestARevokedCertificateEndsAllThatItHasOpened(t *testing.T) {
	claim.Shows(t, "Access", "a client certificate is revoked by its serial number, and a watch that it has opened ends")
	n := start(t)
	config, _ := n.streaming("")
	config.BearerToken = ""
	config.CertFile, config.KeyFile = n.Credential("operator.crt"), n.Credential("operator.key")
	n.apply(attachable)
	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(patience))
	defer cancel()
	ended := reading("/v1/pods:watch", "talks")(ctx, n, config)
	list, _, _ := n.command("", n.Binary, "certificate", "list", "--socket", n.Socket)
	var serial string
	for line := range strings.Lines(list) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == "operator" {
			serial = fields[0]
		}
	}
	if _, failed, code := n.command("", n.Binary, "certificate", "revoke", serial, "--socket", n.Socket); code != 0 {
		t.Fatalf("revoke %q: got %d %s", serial, code, failed)
	}
	select {
	case <-ended:
	case <-time.After(pace.Of(time.Second)):
		t.Error("the watch goes on after a second")
	}
	certificate := []string{"--cert", config.CertFile, "--key", config.KeyFile}
	if got := n.curlTLS("", "/v1/pods", certificate...); got.code != http.StatusUnauthorized {
		t.Errorf("the certificate still opens: %s", got)
	}
	if got := n.curlTLS("operator", "/v1/pods"); got.code != http.StatusOK {
		t.Errorf("the token of the same role: %s", got)
	}
}

func TestNarrowedRolesKeepToTheirNamespaces(t *testing.T) {
	claim.Shows(t, "Access",
		"a role may be narrowed to namespaces: lists show those alone, and what is elsewhere is refused on every path",
	)
	n := start(t)
	for _, namespace := range []string{"dev", "prod"} {
		n.apply(strings.Replace(shell("box", "echo from-"+namespace+"; exec sleep 1000").yaml(), "metadata:", "metadata:\n  namespace: "+namespace, 1))
	}
	viewer := n.created("dev-viewer", "--role", "viewer", "--namespace", "dev")
	operator := n.created("dev-operator", "--role", "operator", "--namespace", "dev,test")
	for _, namespace := range []string{"dev", "prod"} {
		n.eventually("the pod of "+namespace+" talks", func() bool {
			return strings.Contains(n.curl("/containerLogs/"+namespace+"/box/main").body, "from-"+namespace)
		})
	}
	run := []string{"-d", `{"command": ["true"]}`}
	for _, c := range []struct {
		path                    string // with NS for the namespace
		args                    []string
		viewer, operator, other int
	}{
		{"/v1/namespaces/NS/pods/box", nil, 200, 200, 403},
		{"/v1/namespaces/NS/pods", nil, 200, 200, 403},
		{"/v1/namespaces/NS/pods/box/containers/main/logs", nil, 200, 200, 403},
		{"/v1/namespaces/NS/pods/box/timeline", nil, 200, 200, 403},
		{"/v1/namespaces/NS/pods/box/stats", nil, 200, 200, 403},
		{"/v1/namespaces/NS/configmaps", nil, 200, 200, 403},
		{"/containerLogs/NS/box/main", nil, 200, 200, 403},
		{"/v1/namespaces/NS/pods/box/containers/main:run", run, 403, 200, 403},
		{"/run/NS/box/main", []string{"-d", "cmd=true"}, 403, 200, 403},
		{"/portForward/NS/box", nil, 403, 400, 403},
		{"/v1/node", nil, 403, 403, 403},
		{"/v1/images", nil, 403, 403, 403},
		{"/v1/persistentvolumes", nil, 403, 403, 403},
		{"/metrics", nil, 403, 403, 403},
		{"/metrics/cadvisor", nil, 403, 403, 403},
		{"/configz", nil, 403, 403, 403},
		{"/v1/tokens", nil, 403, 403, 403},
		{"/healthz", nil, 200, 200, 200},
	} {
		for _, call := range []struct {
			who, secret, namespace string
			want                   int
		}{
			{"viewer", viewer, "dev", c.viewer}, {"operator", operator, "dev", c.operator},
			{"viewer", viewer, "prod", c.other}, {"operator", operator, "prod", c.other},
		} {
			path := strings.Replace(c.path, "NS", call.namespace, 1)
			if got := n.with(call.secret, path, c.args...); got.code != call.want {
				t.Errorf("%s: %s: got %s, want %d", call.who, path, got, call.want)
			}
		}
	}
	for _, path := range []string{"/v1/pods", "/pods", "/runningpods/", "/v1/events", "/stats/summary", "/v1/stats"} {
		got := n.with(viewer, path)
		if got.code != http.StatusOK || !strings.Contains(got.body, `"dev"`) || strings.Contains(got.body, `"prod"`) {
			t.Errorf("%s: got %s, want what is of dev alone", path, got)
		}
	}
	bundle := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: dev}\n---\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: prod}\n"
	got := n.with(operator, "/v1/manifests", "--data-binary", bundle)
	if got.code != http.StatusForbidden || !strings.Contains(got.body, `ConfigMap prod/x is in namespace \"prod\"`) {
		t.Errorf("a bundle of two namespaces: got %s, want 403 with what is elsewhere", got)
	}
	if got := n.with(operator, "/v1/namespaces/dev/configmaps/x"); got.code != http.StatusNotFound {
		t.Errorf("the refused bundle has left %s", got)
	}
}
