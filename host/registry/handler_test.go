package registry

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const token = "secret"

// serving imports an image as registry.test/team/app:1 and serves it.
func serving(t *testing.T) (image v1.Image, server *httptest.Server) {
	t.Helper()
	image = ourImage(t)
	s := openStore(t, t.TempDir())
	importAll(t, s, tarOf(t, ociLayout(t, named(image, map[string]string{containerdName: "registry.test/team/app:1"}))...), Options{})
	server = httptest.NewServer(s.Handler(token))
	t.Cleanup(server.Close)
	return image, server
}

// asRuntime sends requests as a runtime does that asks a mirror: with the token,
// and with the registry that it means.
type asRuntime struct{ host string }

func (a asRuntime) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	if a.host != "" {
		r.URL.RawQuery = url.Values{"ns": {a.host}}.Encode()
	}
	return http.DefaultTransport.RoundTrip(r)
}

func pull(t *testing.T, server *httptest.Server, path, host string) (v1.Image, error) {
	t.Helper()
	reference, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://")+"/"+path, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	return remote.Image(reference, remote.WithTransport(asRuntime{host}), remote.WithContext(t.Context()))
}

func TestAClientPullsWhatWasImported(t *testing.T) {
	want, server := serving(t)
	for _, c := range []struct{ name, path, host string }{
		{"as from a mirror, by tag", "team/app:1", "registry.test"},
		{"as from a mirror, by digest", "team/app@" + digestOf(t, want), "registry.test"},
		{"by the full name", "registry.test/team/app:1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := pull(t, server, c.path, c.host)
			if err != nil {
				t.Fatal(err)
			}
			if err := validate.Image(got); err != nil { // reads all layers
				t.Error(err)
			}
			if digestOf(t, got) != digestOf(t, want) {
				t.Errorf("got digest %s, want %s", digestOf(t, got), digestOf(t, want))
			}
		})
	}
}

func TestAPlainLayerOfDockerSaveIsPulledAsSuch(t *testing.T) {
	s := openStore(t, t.TempDir())
	importAll(t, s, tarOf(t, dockerSave(t, ourImage(t), "app:1")...), Options{})
	server := httptest.NewServer(s.Handler(""))
	defer server.Close()
	got, err := pull(t, server, "library/app:1", "docker.io")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := got.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if kind := manifest.Layers[0].MediaType; kind != types.OCIUncompressedLayer {
		t.Errorf("got a layer of type %s, want %s", kind, types.OCIUncompressedLayer)
	}
}

func TestUnknownImagesAreAnsweredAsByARegistry(t *testing.T) {
	image, server := serving(t)
	blob := "/v2/team/app/blobs/" + digestOf(t, image)
	for _, c := range []struct {
		name, method, path string
		status             int
		want               string
	}{
		{"the version", "GET", "/v2/", 200, "{}"},
		{"another tag", "GET", "/v2/team/app/manifests/2?ns=registry.test", 404, "MANIFEST_UNKNOWN"},
		{"the same path of another registry", "GET", "/v2/team/app/manifests/1?ns=docker.io", 404, "MANIFEST_UNKNOWN"},
		{"another digest", "GET", "/v2/team/app/manifests/sha256:" + strings.Repeat("0", 64), 404, "MANIFEST_UNKNOWN"},
		{"a blob that is not there", "GET", "/v2/team/app/blobs/sha256:" + strings.Repeat("0", 64), 404, "BLOB_UNKNOWN"},
		{"a digest that is a path", "GET", "/v2/team/app/blobs/..%2f..%2findex.json", 404, "BLOB_UNKNOWN"},
		{"a digest of another kind", "GET", "/v2/team/app/blobs/sha512:" + strings.Repeat("0", 128), 404, "BLOB_UNKNOWN"},
		{"a layer as a manifest", "GET", strings.Replace(blob, "/blobs/", "/tags/", 1), 404, "NAME_UNKNOWN"},
		{"a list of tags", "GET", "/v2/team/app/tags/list", 404, "NAME_UNKNOWN"},
		{"a push", "POST", "/v2/team/app/blobs/uploads/", 405, "UNSUPPORTED"},
		{"outside of the protocol", "GET", "/metrics", 404, "NAME_UNKNOWN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body, _ := ask(t, c.method, server.URL+c.path, "Bearer "+token, "")
			if status != c.status || !strings.Contains(body, c.want) {
				t.Errorf("got %d %q, want %d with %q", status, body, c.status, c.want)
			}
		})
	}
}

func TestReadingNeedsTheToken(t *testing.T) {
	_, server := serving(t)
	for _, authorization := range []string{"", "Bearer ", "Bearer guess", "Basic " + token} {
		if status, body, _ := ask(t, "GET", server.URL+"/v2/", authorization, ""); status != 401 || !strings.Contains(body, "UNAUTHORIZED") {
			t.Errorf("with %q: got %d %s, want 401", authorization, status, body)
		}
	}
}

func TestAPartOfABlobMayBeAskedFor(t *testing.T) {
	image, server := serving(t)
	raw, err := image.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	path := server.URL + "/v2/team/app/blobs/" + digestOf(t, image)
	status, body, header := ask(t, "GET", path, "Bearer "+token, "bytes=10-19")
	if status != 206 || body != string(raw[10:20]) {
		t.Errorf("got %d %q, want 206 %q", status, body, raw[10:20])
	}
	if got := header.Get("Docker-Content-Digest"); got != digestOf(t, image) {
		t.Errorf("got digest %q, want %s", got, digestOf(t, image))
	}
}

func ask(t *testing.T, method, address, authorization, span string) (status int, body string, header http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", authorization)
	if span != "" {
		r.Header.Set("Range", span)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text), response.Header
}

func TestAServerAnswersAtItsMirrorUntilItsContextEnds(t *testing.T) {
	server, err := Listen(openStore(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	mirror := server.Mirror()
	if status, body, _ := ask(t, "GET", mirror.URL+"/v2/", "Bearer "+mirror.Token, ""); status != 200 {
		t.Errorf("got %d %s, want 200", status, body)
	}
	cancel()
	if err := <-served; err != nil {
		t.Errorf("serve: got %v, want nil", err)
	}
	if !strings.HasPrefix(mirror.URL, "http://127.0.0.1:") || len(mirror.Token) < 20 {
		t.Errorf("got %+v, want an address on loopback and a token", mirror)
	}
}
