package kube

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	gopath "path"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-chi/chi/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// answerWithin bounds the time that a server in a pod may take until it begins to answer.
const answerWithin = time.Minute

// backend is a server in a pod.
type backend struct {
	scheme, namespace, pod string
	port                   int32
}

// backendOf reads the pod, the scheme and the port from a path's [scheme:]name[:port]. Port 0 means that none is named.
func backendOf(r *http.Request) (backend, error) {
	text, err := url.PathUnescape(chi.URLParam(r, "name"))
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(text)
	if err != nil || !ok {
		return backend{}, fmt.Errorf("proxy to %q: want NAME, NAME:PORT or https:NAME:PORT: %w", text, node.ErrInvalid)
	}
	to := backend{cmp.Or(scheme, "http"), chi.URLParam(r, "namespace"), name, 0}
	if port == "" {
		return to, nil
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return backend{}, fmt.Errorf("proxy to port %q of pod %s: want a number between 1 and 65535: %w", port, name, node.ErrInvalid)
	}
	to.port = int32(number)
	return to, nil
}

// firstPort returns the first port that a pod's containers declare.
func firstPort(pod *object) (int32, error) {
	for _, c := range containersIn(specOf(pod), "containers") {
		ports, _ := c["ports"].([]any)
		for _, p := range ports {
			fields, _ := p.(map[string]any)
			if number, ok := fields["containerPort"].(float64); ok {
				return int32(number), nil
			}
		}
	}
	return 0, fmt.Errorf("pod %s declares no port; name one, as in %s:80: %w", pod.GetName(), pod.GetName(), node.ErrInvalid)
}

// proxy passes a request on to a server in a pod, over a connection of its own that PortForward makes.
func (s writer) proxy(w http.ResponseWriter, r *http.Request) {
	to, err := backendOf(r)
	opened, isOpened := r.Context().Value(openedKey{}).(openedPath)
	if err == nil && (to.port == 0 || isOpened) {
		var pod *nodev1.GetPodResponse
		pod, err = s.pods.GetPod(r.Context(), &nodev1.GetPodRequest{Namespace: to.namespace, Name: to.pod})
		switch {
		case isOpened && (err == nil || status.Code(err) == codes.NotFound) && !opened.leadsTo(pod.GetPod().GetUid()):
			err = node.ErrNotFound
		case err == nil && to.port == 0:
			to.port, err = firstPort(objectOf(pod.GetPod().GetObject()))
		}
	}
	if err != nil {
		s.fail(w, err, to.pod)
		return
	}
	base, rest := cutProxy(r.URL.EscapedPath())
	base = cmp.Or(opened.base, base)
	path, err := url.PathUnescape(rest)
	if err != nil {
		fail(w, fmt.Errorf("read the path %q: %w: %w", rest, err, node.ErrInvalid))
		return
	}
	if rest == "" { // links of a page are relative to its directory
		http.Redirect(w, r, base+"/"+(&url.URL{RawQuery: r.URL.RawQuery}).String(), http.StatusMovedPermanently)
		return
	}
	transport := &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return s.reach(r.Context(), to) },
		// The certificate of a server in a pod says nothing that the node could check: the node reaches the pod by its name.
		TLSClientConfig:       &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives:     true, // or one caller's connection would serve another
		DisableCompression:    true,
		ResponseHeaderTimeout: answerWithin,
	}
	host := net.JoinHostPort(to.pod, strconv.Itoa(int(to.port)))
	proxy := httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL = &url.URL{Scheme: to.scheme, Host: host, Path: path, RawPath: rest, RawQuery: r.URL.RawQuery}
			p.Out.Host = ""
			p.SetXForwarded()
			p.Out.Header.Set("X-Forwarded-Prefix", base)
			for _, credential := range []string{"Authorization", "Cookie", "Proxy-Authorization"} {
				p.Out.Header.Del(credential) // it is the node's, and the pod is not to see it
			}
		},
		Transport:     transport,
		FlushInterval: -1,
		ModifyResponse: func(reply *http.Response) error {
			confine(reply, base, host, r.Host)
			if isOpened {
				AllowAnyOrigin(reply.Header)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { s.unreached(w, err, to) },
	}
	proxy.ServeHTTP(answers{w}, r)
}

// answers passes on a server's answer, and nothing that it says before: that is not confined, and may hold cookies too.
type answers struct{ http.ResponseWriter }

func (a answers) WriteHeader(code int) {
	if code >= http.StatusOK || code == http.StatusSwitchingProtocols {
		a.ResponseWriter.WriteHeader(code)
	}
}

// Unwrap lets the proxy flush and take over the connection.
func (a answers) Unwrap() http.ResponseWriter { return a.ResponseWriter }

type openedKey struct{}

type openedPath struct {
	base    string
	leadsTo func(uid string) bool
}

// OpenedAt says that a request to a server in a pod came by another path than that of the Kubernetes API. The secret in
// that path is the request's credential. It is asked whether it leads to the pod that has the name now: none if the UID is empty.
func OpenedAt(ctx context.Context, base string, leadsTo func(uid string) bool) context.Context {
	return context.WithValue(ctx, openedKey{}, openedPath{base, leadsTo})
}

// AllowAnyOrigin lets a page that was opened by a secret path read what is below it: its own origin is none. The path is not
// to be told to others.
func AllowAnyOrigin(of http.Header) {
	of.Set("Access-Control-Allow-Origin", "*")
	of.Set("Access-Control-Allow-Headers", "*")
	of.Set("Access-Control-Allow-Methods", "*")
	of.Del("Access-Control-Allow-Credentials")
	of.Set("Referrer-Policy", "no-referrer")
}

// cutProxy cuts a path behind /api/v1/namespaces/NAMESPACE/pods/NAME/proxy.
func cutProxy(escaped string) (base, rest string) {
	words := strings.SplitAfterN(escaped, "/", 9)
	base = strings.TrimSuffix(strings.Join(words[:8], ""), "/")
	return base, strings.TrimPrefix(escaped, base)
}

// ownHeaders are headers by which an answer would change what a browser keeps of the node, or lead it to the node's paths.
var ownHeaders = []string{
	"Set-Cookie", "Strict-Transport-Security", "Alt-Svc", "Clear-Site-Data", "Service-Worker-Allowed", "Refresh", "Content-Location",
	"NEL", "Report-To", "Reporting-Endpoints", "Accept-CH", "Critical-CH", "Secure-Session-Registration", "Sec-Session-Registration",
}

// confine keeps a pod's answer apart from the node, whose address it has: a page has an origin of its own, in which it
// cannot use the dashboard's session, and a redirect of the server stays with the server.
func confine(reply *http.Response, base, host, own string) {
	for _, name := range ownHeaders {
		reply.Header.Del(name)
	}
	reply.Header.Add("Content-Security-Policy", "sandbox allow-scripts allow-forms allow-popups allow-downloads")
	reply.Header.Set("X-Content-Type-Options", "nosniff")
	location := reply.Header.Get("Location")
	reply.Header.Del("Location") // all of them
	if to, ok := below(base, location, reply.Request.URL, host, own); ok {
		reply.Header.Set("Location", to)
	}
}

// below returns where a redirect leads a browser that sees the server of a pod, host, below the path base of the node, own.
// A browser that follows a redirect sends the user's session to the node. So below refuses what leads to the node's other
// paths, and what browsers and this program may read in two ways.
func below(base, location string, from *url.URL, host, own string) (to string, ok bool) {
	at, err := url.Parse(location)
	switch {
	case err != nil, location == "", strings.Contains(location, `\`), at.Host == "" && at.Scheme != "":
		return "", false
	case at.Host != "" && at.Host != host:
		return location, isElsewhere(at.Hostname(), own)
	case at.Host == "" && at.Path == "":
		return location, true // the same path
	}
	path := plainDots(at)
	if at.Host == "" && !strings.HasPrefix(path, "/") {
		asked := plainDots(from)
		path = asked[:strings.LastIndex(asked, "/")+1] + path
	}
	inside := gopath.Clean("/" + path)
	if last := path[strings.LastIndex(path, "/")+1:]; inside != "/" && (last == "" || last == "." || last == "..") {
		inside += "/"
	}
	return base + inside + (&url.URL{RawQuery: at.RawQuery, Fragment: at.Fragment}).String(), true
}

// plainDots returns a URL's escaped path without escaped dots, which browsers take for dots too.
func plainDots(of *url.URL) string {
	return strings.NewReplacer("%2e", ".", "%2E", ".").Replace(of.EscapedPath())
}

// isElsewhere reports whether a host is surely not the one of an address. Its port says nothing, as cookies are sent to all of
// them. Browsers read names that are not in ASCII, and short or octal addresses, as others.
func isElsewhere(name, own string) bool {
	ownName := (&url.URL{Host: own}).Hostname()
	if strings.EqualFold(strings.TrimSuffix(name, "."), strings.TrimSuffix(ownName, ".")) {
		return false
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		ownIP, err := netip.ParseAddr(ownName)
		return err != nil || ip != ownIP
	}
	if strings.ContainsFunc(name, func(c rune) bool { return c > unicode.MaxASCII }) {
		return false
	}
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	last := labels[len(labels)-1]
	return last != "" && (last[0] < '0' || last[0] > '9')
}

// unreached answers for a server that does not.
func (s writer) unreached(w http.ResponseWriter, err error, to backend) {
	known, ok := status.FromError(err)
	switch {
	case ok && known.Code() == codes.NotFound:
		s.fail(w, node.ErrNotFound, to.pod)
	case ok && known.Code() != codes.Unknown && known.Code() != codes.Internal && known.Code() != codes.Unavailable:
		fail(w, err)
	default:
		failAs(w, http.StatusServiceUnavailable, fmt.Errorf("ask %s port %d of pod %s/%s: %w", to.scheme, to.port, to.namespace, to.pod, err))
	}
}

// reach connects with the port of a pod.
func (c clients) reach(ctx context.Context, to backend) (net.Conn, error) {
	ctx, end := context.WithCancel(ctx)
	stream, err := c.exec.PortForward(ctx)
	if err == nil {
		err = stream.Send(&nodev1.PortForwardRequest{Input: &nodev1.PortForwardRequest_Start{
			Start: &nodev1.PortForwardStart{Namespace: to.namespace, Name: to.pod, Port: to.port},
		}})
	}
	if errors.Is(err, io.EOF) { // only receiving tells why
		_, err = stream.Recv()
	}
	if err != nil {
		end()
		return nil, err
	}
	return &tunnel{stream: stream, end: end}, nil
}

// tunnel is a connection over a stream of the node API.
type tunnel struct {
	stream grpc.BidiStreamingClient[nodev1.PortForwardRequest, nodev1.PortForwardResponse]
	end    context.CancelFunc

	mu   sync.Mutex // held while a message is received
	rest []byte     // of what was received
	err  error      // why no more is received
}

var _ net.Conn = (*tunnel)(nil)

func (t *tunnel) Read(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.rest) == 0 {
		if t.err != nil {
			return 0, t.err
		}
		t.receive()
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

func (t *tunnel) receive() {
	message, err := t.stream.Recv()
	t.rest, t.err = append(t.rest, message.GetData()...), err
}

func (t *tunnel) Write(p []byte) (int, error) {
	err := t.stream.Send(&nodev1.PortForwardRequest{Input: &nodev1.PortForwardRequest_Data{Data: p}})
	if errors.Is(err, io.EOF) {
		err = t.ended()
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// ended returns why a stream is over to which nothing more can be sent. Only receiving tells that.
func (t *tunnel) ended() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.err == nil {
		t.receive()
	}
	return t.err
}

func (t *tunnel) Close() error {
	t.end()
	return nil
}

func (t *tunnel) LocalAddr() net.Addr  { return inside{} }
func (t *tunnel) RemoteAddr() net.Addr { return inside{} }

// Requests end with their context; a transport sets no deadlines.
func (t *tunnel) SetDeadline(time.Time) error      { return errors.ErrUnsupported }
func (t *tunnel) SetReadDeadline(time.Time) error  { return errors.ErrUnsupported }
func (t *tunnel) SetWriteDeadline(time.Time) error { return errors.ErrUnsupported }

// inside is the address of both ends of a tunnel.
type inside struct{}

func (inside) Network() string { return "pod" }
func (inside) String() string  { return "pod" }
