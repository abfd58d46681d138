package e2e

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"nodal/test/agent"
	"nodal/test/claim"
)

// runsAndAnswers checks a pod from outside: through the runtime and over HTTP.
func (n *node) runsAndAnswers(name string) *corev1.Pod {
	n.t.Helper()
	p := n.waitRunning(name)
	if got := n.containers(name); len(got) != 1 || !got[0].running {
		n.t.Errorf("the runtime has %+v of pod %s, want one running container", got, name)
	}
	if got, want := n.web(p.Status.PodIP), name+"\n"; got != want {
		n.t.Errorf("pod %s answers %q, want %q", name, got, want)
	}
	return p
}

func TestManifestRunsWhicheverWayItIsPosted(t *testing.T) {
	claim.Shows(t, "Ways in", "a manifest in YAML or JSON runs whether it is posted by curl or grpcurl, on the socket or over TLS")
	n := start(t)
	inJSON := func(name string) string {
		data, err := yaml.YAMLToJSON([]byte(web(name).yaml()))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	message := func(name string) string { return n.jsonOf(map[string]string{"manifest": web(name).yaml()}) }
	const apply = "node.v1.ManifestsService/Apply"
	for _, c := range []struct {
		name string
		post func(pod string) answer
		want int
	}{
		{"curl-yaml", func(pod string) answer { return n.curl("/v1/manifests", "--data-binary", web(pod).yaml()) }, 200},
		{"curl-json", func(pod string) answer {
			return n.curl("/v1/manifests", "-H", "Content-Type: application/json", "--data-binary", inJSON(pod))
		}, 200},
		{"curl-put", func(pod string) answer {
			return n.curl("/v1/namespaces/default/pods/"+pod, "-X", "PUT", "--data-binary", web(pod).yaml())
		}, 200},
		{"curl-tls", func(pod string) answer {
			return n.curlTLS("operator", "/v1/manifests", "--data-binary", web(pod).yaml())
		}, 200},
		{"grpcurl", func(pod string) answer { return n.grpcurl(apply, message(pod)) }, 0},
		{"grpcurl-tls", func(pod string) answer { return n.grpcurlTLS("operator", apply, message(pod)) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.post(c.name); got.code != c.want {
				t.Fatalf("got %s, want code %d", got, c.want)
			}
			n.runsAndAnswers(c.name)
		})
	}
}

func TestManifestRunsFromFileAndURL(t *testing.T) {
	claim.Shows(t, "Ways in", "a manifest runs from a directory and from a URL with its headers")
	var page []byte
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "open" {
			http.Error(w, "no key", http.StatusForbidden)
			return
		}
		w.Write(page)
	}))
	defer served.Close()
	page = []byte(web("served").yaml())
	n := prepare(t, func(c *agent.Config) {
		dir := filepath.Join(c.Dir, "manifests")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		c.Flags = append(c.Flags, "--pod-manifest-path", dir, "--manifest-url", served.URL, "--manifest-url-header", "X-Key:open")
	})
	n.up()
	// Static pods carry the node's name.
	n.runsAndAnswers("served-node-a")
	n.file("node/manifests/dropped.yaml", web("dropped").yaml())
	p := n.runsAndAnswers("dropped-node-a")
	if got, want := p.Annotations["kubernetes.io/config.source"], "file"; got != want {
		t.Errorf("the file's pod is annotated with source %q, want %q", got, want)
	}
	if err := os.Remove(filepath.Join(n.Dir, "manifests/dropped.yaml")); err != nil {
		t.Fatal(err)
	}
	n.waitGone("dropped-node-a")
}
