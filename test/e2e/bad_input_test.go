package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/claim"
)

// mistake is an invalid manifest, and the words that the answer must contain.
type mistake struct {
	name, manifest string
	says           []string
}

func mistakes() []mistake {
	const head = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: wrong\nspec:\n"
	const fine = "  containers:\n  - name: main\n    image: nodal.test/probe:1\n"
	return []mistake{
		{"not YAML", "apiVersion: v1\nkind: [", []string{"document 1"}},
		{"an unknown field", head + fine + "    imagee: x\n", []string{"document 1", "spec.containers[0].imagee", "unknown field"}},
		{"a duplicate key", head + fine + "    name: twice\n", []string{"document 1", "name"}},
		{"a rule broken", strings.Replace(head+fine, "name: main", "name: Main_", 1), []string{"document 1 (Pod default/wrong)", "spec.containers[0].name", "RFC 1123"}},
		{"a value of the wrong type", head + "  terminationGracePeriodSeconds: soon\n" + fine, []string{"spec.terminationGracePeriodSeconds"}},
		{"no containers", head + "  restartPolicy: Never\n", []string{"spec.containers", "Required"}},
		{"another kind", "apiVersion: v1\nkind: Node\nmetadata:\n  name: wrong\n", []string{"kind", "Node"}},
		{"a field that this node does not honour", head + fine + "    resources: {limits: {kubernetes.io/gpu: 1}}\n", []string{"spec.containers[0].resources.limits[kubernetes.io/gpu]", "not supported"}},
		{"a good document before a bad one", web("good").yaml() + "---\n" + head + fine + "    imagee: x\n", []string{"document 2", "spec.containers[0].imagee"}},
	}
}

func TestBadManifestIsRefusedWholeAndSaysWhy(t *testing.T) {
	claim.Shows(t, "Ways in",
		"a bundle with one bad document is refused whole, and every violation names its document and field",
		"unknown fields and duplicate keys are errors",
	)
	n := start(t)
	for _, c := range mistakes() {
		t.Run(c.name, func(t *testing.T) {
			rest := n.curl("/v1/manifests", "--data-binary", c.manifest)
			if rest.code != 400 || !strings.Contains(rest.body, "fieldViolations") {
				t.Errorf("REST: got %s, want 400 with field violations", rest)
			}
			grpc := n.grpcurl("node.v1.ManifestsService/Apply", n.jsonOf(map[string]string{"manifest": c.manifest}))
			if !strings.Contains(grpc.body, "InvalidArgument") || !strings.Contains(grpc.body, "google.rpc.BadRequest") {
				t.Errorf("gRPC: got %s, want InvalidArgument with a BadRequest", grpc)
			}
			for _, text := range c.says {
				for _, got := range []answer{rest, grpc} {
					if !strings.Contains(got.body, text) {
						t.Errorf("got %s, want %q named", got, text)
					}
				}
			}
		})
	}
	if got := n.curl("/v1/pods"); strings.Contains(got.body, `"name"`) {
		t.Errorf("after bad manifests alone there are pods: %s", got)
	}
}

func TestEachWrongRequestHasItsOwnCode(t *testing.T) {
	claim.Shows(t, "Ways in",
		"each wrong request has an HTTP code of its own and a message",
		"a bundle or a pod is neither accepted nor deleted if any of it has changed after the revision that the client names",
	)
	n := start(t)
	n.apply(web("there").yaml())
	n.waitRunning("there")
	large := n.file("large.yaml", web("large").yaml()+"# "+strings.Repeat("x", 8<<20)+"\n")
	const pod = "/v1/namespaces/default/pods/there"
	for _, c := range []struct {
		name, path string
		args       []string
		want       int
	}{
		{"a body over the limit", "/v1/manifests", []string{"-H", "Expect:", "--data-binary", "@" + large}, 413},
		{"an unknown content type", "/v1/manifests", []string{"-H", "Content-Type: image/png", "-d", "x"}, 415},
		{"an empty bundle", "/v1/manifests", []string{"-d", ""}, 400},
		{"a missing pod", "/v1/namespaces/default/pods/nobody", nil, 404},
		{"a container that is not there", pod + ":restart", []string{"-d", `{"container": "nothing"}`}, 404},
		{"a path that is not there", "/v1/nothing", nil, 404},
		{"a method that is not the path's", "/v1/node", []string{"-X", "PUT"}, 405},
		{"a manifest of another pod than the path's", pod, []string{"-X", "PUT", "--data-binary", web("else").yaml()}, 400},
		{"another UID than the pod's", pod + "?uid=0d1f", []string{"-X", "DELETE"}, 409},
		{"another UID than the pod's to restart", pod + ":restart", []string{"-d", `{"uid": "0d1f"}`}, 409},
		{"a bundle of existing pods", "/v1/manifests?unchangedSince=0", []string{"--data-binary", web("there").yaml()}, 409},
		{"a bundle to delete of what has changed", "/v1/manifests?unchangedSince=1", []string{"-X", "DELETE", "--data-binary", web("there").yaml()}, 409},
		{"a pod that is there already", pod + "?unchangedSince=0", []string{"-X", "PUT", "--data-binary", web("there").yaml()}, 409},
		{"a pod to delete that has changed", pod + "?unchangedSince=1", []string{"-X", "DELETE"}, 409},
		{"a negative grace period", pod + "?gracePeriodSeconds=-1", []string{"-X", "DELETE"}, 400},
		{"a selector that does not parse", "/v1/pods?labelSelector=%3D%3D", nil, 400},
		{"a revision that is not there", "/v1/pods:watch?sinceRevision=99999999999", nil, 410},
	} {
		if got := n.curl(c.path, c.args...); got.code != c.want || !strings.Contains(got.body, `"message"`) {
			t.Errorf("%s: got %s, want %d with a message", c.name, got, c.want)
		}
	}
}

func TestBadFilesHarmNothingElse(t *testing.T) {
	claim.Shows(t, "Ways in",
		"a bad file in the manifest directory keeps the last good pod and shows in events and on the node",
		"half-written files of an editor harm nothing",
		"a static pod whose file is changed runs the change",
	)
	n := prepare(t, func(c *agent.Config) {
		c.Flags = append(c.Flags, "--pod-manifest-path", filepath.Join(c.Dir, "manifests"))
	})
	n.file("node/manifests/steady.yaml", web("steady").yaml())
	n.file("node/manifests/edited.yaml", web("edited").yaml())
	n.up()
	n.waitRunning("steady-node-a")
	n.waitRunning("edited-node-a")
	before := fmt.Sprint(n.running())
	events := n.follow("/v1/events:watch")
	// An editor leaves such states for a moment: half of the file, then an empty file.
	text := web("edited").yaml()
	for _, half := range []string{text[:len(text)/2], text[:len(text)-8] + "\x00", ""} {
		n.file("node/manifests/edited.yaml", half)
		events.until("InvalidManifest")
	}
	for i, c := range mistakes() {
		n.file(fmt.Sprintf("node/manifests/wrong%d.yaml", i), c.manifest)
		line := events.until(fmt.Sprintf("wrong%d.yaml", i))
		for _, says := range c.says {
			if !strings.Contains(line, strings.ReplaceAll(says, "default/wrong", "default/wrong-node-a")) && !strings.Contains(line, says) {
				t.Errorf("%s: the event is %s, want %q in it", c.name, line, says)
			}
		}
	}
	got := n.curl("/v1/node")
	for _, text := range []string{"edited.yaml", "wrong1.yaml", "spec.containers[0].imagee"} {
		if !strings.Contains(got.body, text) {
			t.Errorf("the node's sources are %s, want the error of %s", got, text)
		}
	}
	n.waitRunning("good-node-a") // the file's other documents are accepted
	running := n.running()
	for c := range running {
		if c.pod == "good-node-a" {
			delete(running, c)
		}
	}
	if after := fmt.Sprint(running); after != before {
		t.Errorf("after bad files %s runs, want %s as before", after, before)
	}
	n.file("node/manifests/edited.yaml", strings.Replace(text, "probe:1", "probe:2", 1))
	n.wait("edited-node-a", "the mended file's image", func(p *corev1.Pod) bool {
		return strings.Contains(containerStatus(p, "main").Image, "probe:2") && ready(p)
	})
	if got := n.curl("/v1/node"); strings.Contains(got.body, "edited.yaml") {
		t.Errorf("the mended file is still called wrong: %s", got)
	}
}

// page is a web page whose text changes.
type page struct {
	mu   sync.Mutex
	text string
	code int
}

func (p *page) set(code int, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.code, p.text = code, text
}

func (p *page) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.WriteHeader(p.code)
	w.Write(bytes.Clone([]byte(p.text)))
}

func TestBadURLKeepsTheLastGood(t *testing.T) {
	claim.Shows(t, "Ways in", "a manifest URL that fails or serves nonsense keeps the last good pods and says so")
	claim.Shows(t, "Status and events", "a watch of the node shows when a source fails and when it recovers")
	source := &page{code: 200, text: web("linked").yaml()}
	served := httptest.NewServer(source)
	defer served.Close()
	n := prepare(t, func(c *agent.Config) {
		c.Settings["httpCheckFrequency"] = "100ms"
		c.Flags = append(c.Flags, "--manifest-url", served.URL)
	})
	n.up()
	n.waitRunning("linked-node-a")
	before := fmt.Sprint(n.running())
	events, told := n.follow("/v1/events:watch"), n.follow("/v1/node:watch")
	told.until(`"name":"node-a"`)
	source.set(200, web("linked").yaml()+"    imagee: x\n")
	events.until("InvalidManifest")
	source.set(500, "out of order")
	events.until("SourceUnavailable")
	told.until(`"errors"`)
	n.eventually("the URL's error on the node", func() bool { return strings.Contains(n.curl("/v1/node").body, "500") })
	if after := fmt.Sprint(n.running()); after != before {
		t.Errorf("with a bad URL %s runs, want %s as before", after, before)
	}
	source.set(200, web("linked").yaml()+"---\n"+web("added").yaml())
	n.waitRunning("added-node-a")
	told.until(`"running":2`)
	if got := n.curl("/v1/node"); strings.Contains(got.body, `"errors"`) {
		t.Errorf("the mended URL is still called wrong: %s", got)
	}
}

func TestPodOfAnotherSourceIsNotTaken(t *testing.T) {
	claim.Shows(t, "Ways in",
		"a pod of one source cannot be changed or deleted through another",
		"a static pod is removed when its file is",
	)
	n := prepare(t, func(c *agent.Config) {
		c.Flags = append(c.Flags, "--pod-manifest-path", filepath.Join(c.Dir, "manifests"))
	})
	n.file("node/manifests/mine.yaml", web("mine").yaml())
	n.up()
	n.waitRunning("mine-node-a")
	if got := n.curl("/v1/manifests", "--data-binary", web("mine-node-a").yaml()); got.code != 409 {
		t.Errorf("applying a file's pod: got %s, want 409", got)
	}
	if got := n.curl("/v1/namespaces/default/pods/mine-node-a", "-X", "DELETE"); got.code != 409 {
		t.Errorf("deleting a file's pod: got %s, want 409", got)
	}
	if err := os.Remove(filepath.Join(n.Dir, "manifests/mine.yaml")); err != nil {
		t.Fatal(err)
	}
	n.waitGone("mine-node-a")
}
