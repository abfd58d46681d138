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
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
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
		"a pull secret that is missing or of a wrong type makes an event, and the pull goes on without it",
		"an image is pulled with the node's own Docker configuration",
		"no password is in logs, events, or a container's configuration in the runtime",
	)
	n := start(t)
	r := startRegistry(n)
	image := r.push("team/app")
	n.apply(private("late", image, "login"))
	n.wait("late", "without its secret it waits", pullFails)
	n.eventually("the event names the secret", func() bool {
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
		// grep fails if it finds nothing.
		out, _ := exec.Command("grep", "-rl", "--exclude=config.json", "-e", secret, n.rt.Dir).Output()
		if len(out) > 0 {
			t.Errorf("a password lies open in %s", out)
		}
	}
}

// faulty stands between the runtime and a registry, and spoils answers as the repository's name
// says.
type faulty struct {
	http.Handler
	healed atomic.Bool
	end    chan struct{}
	asked  sync.Map // the number of requests for each manifest and blob, by path: *atomic.Int32
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

// spoil damages a layer on its way.
func (f *faulty) spoil(reply *http.Response) error {
	path := reply.Request.URL.Path
	if reply.Request.Method == http.MethodGet && reply.StatusCode < http.StatusBadRequest {
		times, _ := f.asked.LoadOrStore(path, new(atomic.Int32))
		times.(*atomic.Int32).Add(1)
	}
	if f.healed.Load() || !strings.Contains(path, "/blobs/") || reply.Request.Method != http.MethodGet {
		return nil
	}
	switch {
	case strings.Contains(path, "/truncated/"):
		passes := int64(10)
		if reply.Request.Header.Get("Range") != "" { // the runtime may also reach the end in steps
			passes = 0
		}
		reply.Body = io.NopCloser(io.LimitReader(reply.Body, passes))
	case strings.Contains(path, "/slow/") && reply.ContentLength > slowPasses:
		reply.Body = &slow{ReadCloser: reply.Body, left: slowPasses, end: f.end}
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

// slowPasses is the part of a slow layer that arrives before it stops: more than containerd buffers
// before it writes.
const slowPasses = 3 << 19

// slow is a layer that stops half-way until heal is called.
type slow struct {
	io.ReadCloser
	left int
	end  chan struct{}
}

func (s *slow) Read(p []byte) (int, error) {
	if s.left == 0 {
		<-s.end
		return s.ReadCloser.Read(p)
	}
	n, err := s.ReadCloser.Read(p[:min(len(p), s.left)])
	s.left -= n
	return n, err
}

// before serves the faults in front of a registry and returns their address.
func (f *faulty) before(r *registry) string {
	r.n.t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: r.host})
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // loopback
	proxy.Transport, proxy.ModifyResponse = transport, f.spoil
	proxy.FlushInterval = -1 // the first part of a slow layer passes at once
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

// heal lets everything pass, also what hangs.
func (f *faulty) heal() {
	if f.healed.CompareAndSwap(false, true) {
		close(f.end)
	}
}

func TestPodsWaitForASickRegistry(t *testing.T) {
	claim.Shows(t, "Images",
		"a pod waits with ErrImagePull or ImagePullBackOff while its registry resets, truncates, alters, answers 429 or 500, and starts once it is well",
		"a registry that hangs delays only the pods that need it",
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
	// The runtime may have given up on the first answer by now; it has none in any case.
	if got := n.curl("/v1/events?namespace=default&name=hangs").body; !strings.Contains(got, "Pulling") || strings.Contains(got, "Pulled") {
		t.Errorf("a pull that hangs has events %s, want that it has begun and not ended well", got)
	}
	f.heal()
	for _, name := range append(sick, "hangs") {
		if p := n.waitRunning(name); containerStatus(p, "main").RestartCount != 0 {
			t.Errorf("pod %s restarted", name)
		}
	}
}

func TestPullInProgressIsListed(t *testing.T) {
	claim.Shows(t, "Images",
		"a pull in progress is listed with its waiting pods and, with containerd, the bytes so far and in all",
	)
	n := start(t, func(c *agent.Config) { c.Settings["serializeImagePulls"] = true })
	r, f := startRegistry(n), &faulty{}
	host := f.before(r)
	n.apply(r.secret("login", host))
	r.pushWith("slow/app", 2*slowPasses)
	r.push("queued/app")
	slow, queued := host+"/slow/app:1", host+"/queued/app:1"
	pulls := func(done func([]*nodev1.Pull) bool) []*nodev1.Pull {
		var list nodev1.ListPullsResponse
		n.eventually("the pulls are listed", func() bool {
			list.Reset()
			return protojson.Unmarshal([]byte(n.curl("/v1/images:pulls").body), &list) == nil && done(list.GetPulls())
		})
		return list.GetPulls()
	}
	n.apply(private("a", slow, "login") + "---\n" + private("b", slow, "login"))
	pulls(func(p []*nodev1.Pull) bool { return len(p) == 1 && p[0].GetBytes() != nil })
	n.apply(private("c", queued, "login"))
	// The size grows by megabytes, as containerd writes.
	got := pulls(func(p []*nodev1.Pull) bool {
		return len(p) == 2 && len(p[0].GetWaiters()) == 2 && p[0].GetBytes().GetPresent() >= 1<<20
	})
	var waiters []string
	for _, w := range got[0].GetWaiters() {
		waiters = append(waiters, w.GetName()+"/"+w.GetContainer())
	}
	slices.Sort(waiters)
	if bytes := got[0].GetBytes(); got[0].GetReference() != slow || !slices.Equal(waiters, []string{"a/main", "b/main"}) ||
		bytes.GetTotal() <= 2*slowPasses || bytes.GetPresent() > bytes.GetTotal()-slowPasses || got[0].GetBeganAt() == nil {
		t.Errorf("got %v, want a and b to wait for %s, half of it present", got[0], slow)
	}
	if w := got[1].GetWaiters(); got[1].GetReference() != queued || got[1].GetBeganAt() != nil || got[1].GetBytes() != nil || len(w) != 1 || w[0].GetName() != "c" {
		t.Errorf("got %v, want c to wait for %s to have its turn", got[1], queued)
	}
	f.heal()
	for _, name := range []string{"a", "b", "c"} {
		n.waitRunning(name)
	}
	pulls(func(p []*nodev1.Pull) bool { return len(p) == 0 })
}

func TestPodsShareOnePullAndUnusedImagesArePruned(t *testing.T) {
	claim.Shows(t, "Images",
		"twenty pods that need one image cost one pull",
		"prune removes exactly the unused images that its plan lists",
		"an operator pulls an image that no pod has asked for, with the credentials of the node",
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
	// A layer that another image has is not pulled again, so not every blob counts.
	blobs, manifests := 0, 0
	for path, times := range f.asked.Range {
		switch path := path.(string); {
		case strings.Contains(path, "/blobs/"):
			blobs++
		case strings.Contains(path, "/manifests/"):
			manifests++
		default:
			continue
		}
		if got := times.(*atomic.Int32).Load(); got != 1 {
			t.Errorf("%s was asked for %d times, want once", path, got)
		}
	}
	if blobs < 2 || manifests != 1 {
		t.Errorf("%d blobs and %d manifests were asked for, want one manifest, the configuration and the layer that no other image has", blobs, manifests)
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
	n.pullsForACaller(host, image)
}

// pullsForACaller pulls an image that no pod asks for, with the credentials of the node.
func (n *node) pullsForACaller(host, image string) {
	n.t.Helper()
	if _, failed, code := n.tryVerb("images", "pull", image); code != 1 || !strings.Contains(failed, "pull image "+image+": ErrImagePull") {
		n.t.Errorf("kubelet images pull without a credential: got %d, %q", code, failed)
	}
	n.file("node/root/config.json", `{"auths": {"`+host+`": {"auth": "`+
		base64.StdEncoding.EncodeToString([]byte(registryUser+":"+registryPassword))+`"}}}`)
	out, failed, code := n.tryVerb("images", "pull", image)
	if code != 0 || !strings.HasPrefix(out, image+" sha256:") {
		n.t.Errorf("kubelet images pull: got %d, %q, %q", code, out, failed)
	}
	if got := n.verb("images", "ls"); !strings.Contains(got, image) {
		n.t.Errorf("after the pull there are\n%s\nwant %s", got, image)
	}
	if got := n.curlTLS("viewer", "/v1/images:pull", "-d", `{"image":"`+image+`"}`); got.code != 403 {
		n.t.Errorf("a viewer pulls: got %s, want 403", got)
	}
}
