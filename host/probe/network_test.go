package probe

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nodal/node"
)

// onLoopback is a probe of a pod in the host's network with this machine's
// loopback as its address, and a port named web.
func onLoopback(port int, handler corev1.ProbeHandler) node.Probe {
	return node.Probe{
		Address: "127.0.0.1", HostNetwork: true, Kind: node.ReadinessProbe,
		Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: int32(port)}},
		Spec:  &corev1.Probe{ProbeHandler: handler, TimeoutSeconds: 30},
	}
}

func portOf(t *testing.T, address net.Addr) int {
	t.Helper()
	_, text, err := net.SplitHostPort(address.String())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// wantAnswer compares an answer. Where text is a port it stands for PORT.
func wantAnswer(t *testing.T, probe node.Probe, want answer) {
	t.Helper()
	p := New(Config{})
	defer p.Close()
	got := p.answer(t.Context(), probe)
	got.text = strings.ReplaceAll(got.text, strconv.Itoa(int(probe.Ports[0].ContainerPort)), "PORT")
	if got != want {
		t.Errorf("\ngot  %d %s\nwant %d %s", got.verdict, got.text, want.verdict, want.text)
	}
}

func TestHTTP(t *testing.T) {
	release := make(chan struct{})
	mux := http.NewServeMux()
	for status := range map[int]bool{200: true, 204: true, 304: true, 404: true, 503: true} {
		mux.HandleFunc("/"+strconv.Itoa(status), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	mux.Handle("/home", http.RedirectHandler("/200", http.StatusFound))
	mux.Handle("/away", http.RedirectHandler("http://127.0.0.2/200", http.StatusFound))
	mux.HandleFunc("/silent", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://127.0.0.2/200")
		w.WriteHeader(http.StatusFound)
	})
	mux.Handle("/round", http.RedirectHandler("/round", http.StatusFound))
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-release })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<10)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/half", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("the rest"))
	})
	mux.HandleFunc("/cookies", func(w http.ResponseWriter, _ *http.Request) {
		for range 20 {
			w.Header().Add("Set-Cookie", strings.Repeat("c", 4000))
		}
	})
	mux.HandleFunc("/version", func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			w.WriteHeader(505)
		}
	})
	mux.HandleFunc("/query", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("a") != "b" {
			w.WriteHeader(400)
		}
	})
	plain, secure := httptest.NewUnstartedServer(mux), httptest.NewTLSServer(mux)
	plain.Config.Protocols = &http.Protocols{}
	plain.Config.Protocols.SetHTTP1(true)
	plain.Config.Protocols.SetUnencryptedHTTP2(true)
	plain.Start()
	defer plain.Close()
	defer secure.Close()
	defer close(release)
	cases := []struct {
		name string
		get  corev1.HTTPGetAction
		tls  bool
		want answer
	}{
		{name: "200 is a success", get: corev1.HTTPGetAction{Path: "/200"}, want: answer{verdict: passing}},
		{name: "204 is a success", get: corev1.HTTPGetAction{Path: "204"}, want: answer{verdict: passing}},
		{name: "503 is a failure", get: corev1.HTTPGetAction{Path: "/503"}, want: fails("HTTP probe failed with statuscode: 503 (GET http://127.0.0.1:PORT/503)")},
		{name: "a query is part of the path", get: corev1.HTTPGetAction{Path: "/query?a=b"}, want: answer{verdict: passing}},
		{name: "a port by its name", get: corev1.HTTPGetAction{Path: "/200", Port: intstr.FromString("web")}, want: answer{verdict: passing}},
		{name: "a port that does not exist", get: corev1.HTTPGetAction{Path: "/200", Port: intstr.FromString("wob")},
			want: answer{nothing, `find port "wob" among the container's ports: not found`}},
		{name: "a redirect to the same host is followed", get: corev1.HTTPGetAction{Path: "/home"}, want: answer{verdict: passing}},
		{name: "one to another host is not, and is a success with a warning", get: corev1.HTTPGetAction{Path: "/away"},
			want: answer{passing, "Probe terminated redirects, Response body: <a href=\"http://127.0.0.2/200\">Found</a>.\n\n"}},
		{name: "nor is one without words", get: corev1.HTTPGetAction{Path: "/silent"},
			want: answer{passing, "Probe terminated redirects, Response body: none; it leads to http://127.0.0.2/200"}},
		{name: "304 is a success with a warning", get: corev1.HTTPGetAction{Path: "/304"}, want: answer{passing, "Probe terminated redirects, Response body: "}},
		{name: "a redirect without end is a failure", get: corev1.HTTPGetAction{Path: "/round"}, want: fails(`Get "/round": stopped after 10 redirects`)},
		{name: "a server that takes too long", get: corev1.HTTPGetAction{Path: "/slow"}, want: fails(`Get "http://127.0.0.1:PORT/slow": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`)},
		{name: "an endless body is not read to its end", get: corev1.HTTPGetAction{Path: "/endless"}, want: answer{verdict: passing}},
		{name: "a connection that breaks is a failure", get: corev1.HTTPGetAction{Path: "/cut"}, want: fails(`Get "http://127.0.0.1:PORT/cut": EOF`)},
		{name: "an answer that breaks off counts for nothing", get: corev1.HTTPGetAction{Path: "/half"},
			want: answer{nothing, "GET http://127.0.0.1:PORT/half: read the answer: unexpected EOF"}},
		{name: "many headers do no harm", get: corev1.HTTPGetAction{Path: "/cookies"}, want: answer{verdict: passing}},
		{name: "HTTP/1.1 is spoken", get: corev1.HTTPGetAction{Path: "/version"}, want: fails("HTTP probe failed with statuscode: 505 (GET http://127.0.0.1:PORT/version)")},
		{name: "and HTTP/2 over a plain connection where that is asked for", get: corev1.HTTPGetAction{Path: "/version", Protocol: new(corev1.HTTPProtocolHTTP2)},
			want: answer{verdict: passing}},
		{name: "a certificate that nobody signed", get: corev1.HTTPGetAction{Path: "/200", Scheme: corev1.URISchemeHTTPS}, tls: true, want: answer{verdict: passing}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server := plain
			if c.tls {
				server = secure
			}
			port := portOf(t, server.Listener.Addr())
			if c.get.Port == (intstr.IntOrString{}) {
				c.get.Port = intstr.FromInt(port)
			}
			probe := onLoopback(port, corev1.ProbeHandler{HTTPGet: &c.get})
			if c.get.Path == "/slow" {
				probe.Spec.TimeoutSeconds = 1
			}
			wantAnswer(t, probe, c.want)
		})
	}
}

func TestHTTPHeaders(t *testing.T) {
	heard := make(chan *http.Request, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { heard <- r }))
	defer server.Close()
	port := portOf(t, server.Listener.Addr())
	cases := []struct {
		name                string
		given               []corev1.HTTPHeader
		agent, accept, host string
		more                []string
	}{
		{"ours", nil, userAgent, "*/*", "127.0.0.1:" + strconv.Itoa(port), nil},
		{"the manifest's in place of ours", []corev1.HTTPHeader{{Name: "user-agent", Value: "me"}, {Name: "Accept", Value: "text/plain"}, {Name: "Host", Value: "shop.example"}},
			"me", "text/plain", "shop.example", nil},
		{"an empty one is none", []corev1.HTTPHeader{{Name: "Accept", Value: ""}, {Name: "User-Agent", Value: ""}}, "", "", "127.0.0.1:" + strconv.Itoa(port), nil},
		{"repeated ones all go", []corev1.HTTPHeader{{Name: "X-More", Value: "1"}, {Name: "x-more", Value: "2"}},
			userAgent, "*/*", "127.0.0.1:" + strconv.Itoa(port), []string{"1", "2"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			wantAnswer(t, onLoopback(port, corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
				Path: "/", Port: intstr.FromInt(port), HTTPHeaders: c.given,
			}}), answer{verdict: passing})
			r := <-heard
			if got := r.Header.Get("User-Agent"); got != c.agent {
				t.Errorf("User-Agent = %q, want %q", got, c.agent)
			}
			if got := r.Header.Get("Accept"); got != c.accept {
				t.Errorf("Accept = %q, want %q", got, c.accept)
			}
			if r.Host != c.host {
				t.Errorf("Host = %q, want %q", r.Host, c.host)
			}
			if got := strings.Join(r.Header["X-More"], " "); got != strings.Join(c.more, " ") {
				t.Errorf("X-More = %q, want %q", got, c.more)
			}
		})
	}
}

// shut returns a port without a listener.
func shut(t *testing.T) int {
	t.Helper()
	listener := listen(t)
	defer listener.Close()
	return portOf(t, listener.Addr())
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func TestTCP(t *testing.T) {
	listener := listen(t)
	defer listener.Close()
	open, closed := portOf(t, listener.Addr()), shut(t)
	tcp := func(port intstr.IntOrString) corev1.ProbeHandler {
		return corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: port}}
	}
	wantAnswer(t, onLoopback(open, tcp(intstr.FromInt(open))), answer{verdict: passing})
	wantAnswer(t, onLoopback(open, tcp(intstr.FromString("web"))), answer{verdict: passing})
	wantAnswer(t, onLoopback(closed, tcp(intstr.FromInt(closed))),
		fails("dial tcp 127.0.0.1:PORT: connect: connection refused"))
	wantAnswer(t, onLoopback(open, tcp(intstr.FromString("wob"))), answer{nothing, `find port "wob" among the container's ports: not found`})
}

func TestGRPC(t *testing.T) {
	serve := func(register func(*grpc.Server), options ...grpc.ServerOption) int {
		listener, server := listen(t), grpc.NewServer(options...)
		register(server)
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		t.Cleanup(func() {
			server.Stop()
			if err := <-served; err != nil {
				t.Errorf("serve: %v", err)
			}
		})
		return portOf(t, listener.Addr())
	}
	well := health.NewServer()
	well.SetServingStatus("sick", healthpb.HealthCheckResponse_NOT_SERVING)
	healthy := serve(func(s *grpc.Server) { healthpb.RegisterHealthServer(s, well) })
	mute := serve(func(*grpc.Server) {})
	web := httptest.NewTLSServer(nil) // for its certificate
	defer web.Close()
	secure := serve(func(s *grpc.Server) { healthpb.RegisterHealthServer(s, well) }, grpc.Creds(credentials.NewServerTLSFromCert(&web.TLS.Certificates[0])))
	closed := shut(t)
	cases := []struct {
		name, service string
		port          int
		mode          *corev1.GRPCProbeMode
		want          answer
	}{
		{"the server as a whole", "", healthy, nil, answer{verdict: passing}},
		{"the server by TLS", "", secure, new(corev1.GRPCProbeModeTLS), answer{verdict: passing}},
		{"a service that does not serve", "sick", healthy, nil, fails(`service unhealthy (responded with "NOT_SERVING") at 127.0.0.1:PORT`)},
		{"a service that is not there", "gone", healthy, nil, fails("error: health rpc probe failed: rpc error: code = NotFound desc = unknown service")},
		{"a server without the health service", "", mute, nil, fails("error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown service grpc.health.v1.Health")},
		{"nobody", "", closed, new(corev1.GRPCProbeModePlaintext), fails(`error: health rpc probe failed: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:PORT: connect: connection refused"`)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			wantAnswer(t, onLoopback(c.port, corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: int32(c.port), Service: &c.service, Mode: c.mode}}), c.want)
		})
	}
}

func TestAddresses(t *testing.T) {
	cases := []struct {
		address          string
		pod, hostNetwork bool
	}{
		{"10.1.2.3:80", true, true},
		{"[fd00::1]:80", true, true},
		{"192.0.2.1:443", true, true},
		{"127.0.0.1:80", false, true},
		{"[::1]:80", false, true},
		{"[::ffff:127.0.0.1]:80", false, true},
		{"0.0.0.0:80", false, false},
		{"[::]:80", false, false},
		{"169.254.169.254:80", false, false},
		{"[::ffff:169.254.169.254]:80", false, false},
		{"[fe80::1%eth0]:80", false, false},
		{"[fd00:ec2::254]:80", false, false},
		{"[fd20:ce::254]:80", false, false},
		{"100.100.100.200:80", false, false},
		{"168.63.129.16:80", false, false},
		{"224.0.0.1:80", false, false},
		{"nonsense", false, false},
	}
	for _, c := range cases {
		t.Run(c.address, func(t *testing.T) {
			if got := allowed(c.address, false) == nil; got != c.pod {
				t.Errorf("a pod may go there: %t, want %t", got, c.pod)
			}
			if got := allowed(c.address, true) == nil; got != c.hostNetwork {
				t.Errorf("a pod in the host's network may go there: %t, want %t", got, c.hostNetwork)
			}
		})
	}
}

func TestTheMachinesOwnAddressesAreOnlyForPodsOnItsNetwork(t *testing.T) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, a := range addresses {
		ip, err := netip.ParsePrefix(a.String())
		if err != nil || ip.Addr().IsLoopback() || ip.Addr().IsLinkLocalUnicast() {
			continue
		}
		tried++
		at := netip.AddrPortFrom(ip.Addr(), 10250).String()
		if err := allowed(at, false); err == nil || !strings.Contains(err.Error(), "of the machine itself") {
			t.Errorf("%s: got error %v, want that it is the machine's", at, err)
		}
		if err := allowed(at, true); err != nil {
			t.Errorf("%s: a pod on the host's network may go there: %v", at, err)
		}
	}
	if tried == 0 {
		t.Skip("this machine has no address but loopback")
	}
}

func TestAHostThatIsForbiddenIsNoFailureOfTheContainer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	port := portOf(t, server.Listener.Addr())
	for name, handler := range map[string]corev1.ProbeHandler{
		"http": {HTTPGet: &corev1.HTTPGetAction{Host: "localhost", Port: intstr.FromInt(port), Path: "/"}},
		"tcp":  {TCPSocket: &corev1.TCPSocketAction{Host: "localhost", Port: intstr.FromInt(port)}},
	} {
		probe := onLoopback(port, handler)
		probe.HostNetwork = false
		p := New(Config{})
		if got := p.answer(t.Context(), probe); got.verdict != nothing || !strings.Contains(got.text, "may not go there") {
			t.Errorf("%s: got %d %q, want no answer", name, got.verdict, got.text)
		}
		p.Close()
	}
}

// A connection that the prober had closed in the ordinary way would hold its
// port for a minute.
func TestConnectionsLeaveNothingBehind(t *testing.T) {
	listener := listen(t)
	defer listener.Close()
	ended := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			err = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		}
		if err == nil {
			_, err = conn.Read(make([]byte, 1))
			err = errors.Join(err, conn.Close())
		}
		ended <- err
	}()
	port := portOf(t, listener.Addr())
	wantAnswer(t, onLoopback(port, corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(port)}}), answer{verdict: passing})
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "connection reset") {
		t.Errorf("the server saw %v, want a reset", err)
	}
}

func TestHTTPConnectionsAreNotKept(t *testing.T) {
	for name, get := range map[string]corev1.HTTPGetAction{
		"HTTP/1.1":           {},
		"HTTP/2 over TLS":    {Scheme: corev1.URISchemeHTTPS},
		"HTTP/2 without TLS": {Protocol: new(corev1.HTTPProtocolHTTP2)},
	} {
		t.Run(name, func(t *testing.T) {
			closed := make(chan struct{})
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateClosed {
					close(closed)
				}
			}
			if get.Scheme == corev1.URISchemeHTTPS {
				server.EnableHTTP2 = true
				server.StartTLS()
			} else {
				server.Config.Protocols = &http.Protocols{}
				server.Config.Protocols.SetHTTP1(true)
				server.Config.Protocols.SetUnencryptedHTTP2(true)
				server.Start()
			}
			defer server.Close()
			port := portOf(t, server.Listener.Addr())
			get.Path, get.Port = "/", intstr.FromInt(port)
			wantAnswer(t, onLoopback(port, corev1.ProbeHandler{HTTPGet: &get}), answer{verdict: passing})
			<-closed
		})
	}
}

func TestAQuestionEndsWithItsContext(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	port := portOf(t, server.Listener.Addr())
	p := New(Config{})
	defer p.Close()
	probe := onLoopback(port, corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt(port), Path: "/"}})
	probe.Spec.TimeoutSeconds = 3600
	p.answer(ctx, probe) // does not return before release, unless it heeds its context
}
