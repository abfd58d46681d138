package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/claim"
)

func pullFails(p *corev1.Pod) bool {
	w := containerStatus(p, "main").State.Waiting
	return w != nil && (w.Reason == "ErrImagePull" || w.Reason == "ImagePullBackOff")
}

func TestPrivateImages(t *testing.T) {
	claim.Shows(t, "Images",
		"an image is pulled with the pod's pull secret, which may come after the pod",
		"a pull secret that is missing or of a wrong type is told of, and the pull goes on without it",
		"an image is pulled with the node's own Docker configuration",
		"no password is in logs, events, or what the runtime is told of a container",
	)
	n := start(t)
	r := startRegistry(n)
	image := r.push("team/app")
	n.apply(private("late", image, "login"))
	n.wait("late", "without its secret it waits", pullFails)
	n.eventually("it is told of the secret", func() bool {
		return strings.Contains(n.curl("/v1/events?namespace=default&name=late").body, "FailedToRetrieveImagePullSecret")
	})
	n.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: opaque}\nstringData: {a: b}\n")
	n.apply(private("wrong", image, "opaque"))
	n.wait("wrong", "with a secret of another type it waits", pullFails)
	n.apply(r.secret("login", r.host+"/team"))
	n.waitRunning("late")

	n.file("node/root/config.json", `{"auths": {"https://`+r.host+`/v2/": {"auth": "`+
		base64.StdEncoding.EncodeToString([]byte(registryUser+":"+registryPassword))+`"}}}`)
	n.waitRunning("wrong")

	events := n.curl("/v1/events").body
	secrets := []string{registryPassword, base64.StdEncoding.EncodeToString([]byte(registryUser + ":" + registryPassword))}
	for _, secret := range secrets {
		if strings.Contains(events, secret) {
			t.Errorf("a password is in the events: %s", events)
		}
		// grep fails where it finds nothing.
		out, _ := exec.Command("grep", "-rl", "--exclude=config.json", "-e", secret, n.rt.Dir).Output()
		if len(out) > 0 {
			t.Errorf("a password lies open in %s", out)
		}
	}
}

// faulty stands between the runtime and a registry, and spoils what it passes on
// as the repository's name says.
type faulty struct {
	http.Handler
	healed atomic.Bool
	end    chan struct{}
	blobs  sync.Map // how often each was asked for, by path: *atomic.Int32
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")
	if f.healed.Load() || len(parts) < 4 {
		f.Handler.ServeHTTP(w, r)
		return
	}
	switch parts[2] {
	case "hangs":
		select {
		case <-f.end:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case "resets":
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			if raw, ok := conn.(*tls.Conn).NetConn().(*net.TCPConn); ok {
				_ = raw.SetLinger(0)
			}
			conn.Close()
		}
	case "busy":
		http.Error(w, "slow down", http.StatusTooManyRequests)
	case "broken":
		http.Error(w, "it broke", http.StatusInternalServerError)
	default:
		f.Handler.ServeHTTP(w, r)
	}
}

// spoil is what becomes of a layer on its way.
func (f *faulty) spoil(reply *http.Response) error {
	path := reply.Request.URL.Path
	if strings.Contains(path, "/blobs/") && reply.Request.Method == http.MethodGet {
		times, _ := f.blobs.LoadOrStore(path, new(atomic.Int32))
		times.(*atomic.Int32).Add(1)
	}
	if f.healed.Load() || !strings.Contains(path, "/blobs/") || reply.Request.Method != http.MethodGet {
		return nil
	}
	switch {
	case strings.Contains(path, "/truncated/"):
		passes := int64(10)
		if reply.Request.Header.Get("Range") != "" { // or the runtime comes to the end in steps
			passes = 0
		}
		reply.Body = io.NopCloser(io.LimitReader(reply.Body, passes))
	case strings.Contains(path, "/altered/"):
		data, err := io.ReadAll(reply.Body)
		if err != nil {
			return err
		}
		data[len(data)/2] ^= 1
		reply.Body = io.NopCloser(bytes.NewReader(data))
	}
	return nil
}

// before puts the faults before a registry and answers their address.
func (f *faulty) before(r *registry) string {
	r.n.t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: r.host})
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // loopback
	proxy.Transport, proxy.ModifyResponse = transport, f.spoil
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	f.Handler, f.end = proxy, make(chan struct{})
	server := httptest.NewUnstartedServer(f)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	r.n.t.Cleanup(func() {
		f.heal()
		server.Close()
		transport.CloseIdleConnections()
	})
	host := strings.TrimPrefix(server.URL, "https://")
	r.trust(host)
	return host
}

// heal lets everything through, also what hangs.
func (f *faulty) heal() {
	if f.healed.CompareAndSwap(false, true) {
		close(f.end)
	}
}

func TestPodsWaitForASickRegistry(t *testing.T) {
	claim.Shows(t, "Images",
		"a pod waits with ErrImagePull or ImagePullBackOff while its registry resets, truncates, alters, answers 429 or 500, and starts once it is well",
		"a registry that hangs holds up nobody but who waits for it",
	)
	n := start(t, func(c *agent.Config) {
		c.Settings["serializeImagePulls"], c.Settings["maxParallelImagePulls"] = false, 10
	})
	r, f := startRegistry(n), &faulty{}
	host := f.before(r)
	n.apply(r.secret("login", host))
	sick := []string{"resets", "truncated", "altered", "busy", "broken"}
	for _, name := range append(sick, "hangs") {
		r.push(name + "/app")
		n.apply(private(name, host+"/"+name+"/app:1", "login"))
	}
	for _, name := range sick {
		n.wait(name, "it waits with the reason", pullFails)
	}
	n.apply(web("neighbour").yaml())
	n.waitRunning("neighbour")
	if got := n.curl("/v1/events?namespace=default&name=hangs").body; !strings.Contains(got, "Pulling") || strings.Contains(got, "Failed") {
		t.Errorf("a pull that hangs has events %s, want that it is under way", got)
	}
	f.heal()
	for _, name := range append(sick, "hangs") {
		if p := n.waitRunning(name); containerStatus(p, "main").RestartCount != 0 {
			t.Errorf("pod %s restarted", name)
		}
	}
}

func TestPodsShareOnePullAndUnusedImagesArePruned(t *testing.T) {
	claim.Shows(t, "Images",
		"twenty pods that need one image cost one pull",
		"prune removes the images that nothing uses, as its plan says, and no other",
	)
	n := start(t)
	r, f := startRegistry(n), &faulty{}
	host := f.before(r)
	n.apply(r.secret("login", host))
	r.push("shared/app")
	image := host + "/shared/app:1"
	var bundle []string
	for i := range 20 {
		bundle = append(bundle, private(fmt.Sprint("p", i), image, "login"))
	}
	n.apply(strings.Join(bundle, "---\n"))
	for i := range 20 {
		n.waitRunning(fmt.Sprint("p", i))
	}
	// Not every blob: a layer that another image has need not come again.
	asked := 0
	for path, times := range f.blobs.Range {
		asked++
		if got := times.(*atomic.Int32).Load(); got != 1 {
			t.Errorf("%s was asked for %d times, want once", path, got)
		}
	}
	if asked < 2 {
		t.Errorf("%d blobs were asked for, want the configuration and the layer that no other image has", asked)
	}
	prune := func(flags ...string) string {
		out, failed, code := n.command("", n.Binary, append([]string{"images", "prune", "--socket", n.Socket}, flags...)...)
		if code != 0 {
			t.Errorf("kubelet images prune %q: %s", flags, failed)
		}
		return out
	}
	if got := prune("--dry-run"); strings.Contains(got, image) {
		t.Errorf("in use, its plan is %s", got)
	}
	n.curl("/v1/manifests", "-X", "DELETE", "--data-binary", strings.Join(bundle, "---\n"))
	for i := range 20 {
		n.waitGone(fmt.Sprint("p", i))
	}
	n.apply(web("stays").yaml())
	n.waitRunning("stays")
	if plan, done := prune("--dry-run"), prune(); !strings.Contains(plan, image) || plan != done {
		t.Errorf("planned %s and did %s, want the same, with %s", plan, done, image)
	}
	if got := n.curl("/v1/images").body; strings.Contains(got, image) || !strings.Contains(got, "pause:1") || !strings.Contains(got, "probe:1") {
		t.Errorf("left are %s, want the images of what runs and of sandboxes", got)
	}
	n.apply(web("later").yaml())
	n.waitRunning("later")
}
