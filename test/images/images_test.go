package images

import (
	"bytes"
	"context"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	imageregistry "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"nodal/host/cri"
	"nodal/host/registry"
	nodal "nodal/node"
	"nodal/test/rig"
)

// pullTimeout bounds a pull, which retries for minutes if its host is wrong.
const pullTimeout = 30 * time.Second

// node is a containerd whose registries the test configures.
type node struct {
	*testing.T
	rig     *rig.Runtime
	runtime *cri.Images
	store   *registry.Store
	hosts   string // the user's directory of registry configurations
}

func newNode(t *testing.T) *node {
	rt := rig.Containerd(t)
	conn, err := cri.Dial(cri.Config{Endpoint: rt.Endpoint})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	store, err := registry.Open(registry.Config{Dir: t.TempDir(), Reserve: 1})
	if err != nil {
		t.Fatal(err)
	}
	// The rig's configuration becomes the user's.
	user := t.TempDir()
	if err := os.CopyFS(user, os.DirFS(filepath.Join(rt.Dir, "hosts"))); err != nil {
		t.Fatal(err)
	}
	n := &node{T: t, rig: rt, runtime: cri.NewImages(conn), store: store, hosts: user}
	n.serve()
	return n
}

// serve starts the node's registry with a port and a token of its own, and returns a function that
// stops it.
func (n *node) serve() (stop func()) {
	n.Helper()
	server, err := registry.Listen(n.store)
	if err != nil {
		n.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(n.Context()))
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	stop = func() {
		cancel()
		if err := <-served; err != nil {
			n.Errorf("serve: %v", err)
		}
		served <- nil
	}
	n.Cleanup(stop)
	if err := registry.WriteHosts(n.hosts, filepath.Join(n.rig.Dir, "hosts"), server.Mirror()); err != nil {
		n.Fatal(err)
	}
	return stop
}

func (n *node) pull(reference string) (string, error) {
	ctx, cancel := context.WithTimeout(n.Context(), pullTimeout)
	defer cancel()
	image, err := n.runtime.Pull(ctx, reference, nil)
	return image.ID, err
}

// imports imports a tarball and has the runtime pull each image of it.
func (n *node) imports(tarball []byte) []nodal.ImportedImage {
	n.Helper()
	images, err := n.store.Import(n.Context(), bytes.NewReader(tarball), registry.Options{})
	if err != nil {
		n.Fatal(err)
	}
	for _, image := range images {
		if id, err := n.pull(image.Reference); err != nil || id != image.ID {
			n.Errorf("pull %s: got %s (error %v), want %s", image.Reference, id, err, image.ID)
		}
	}
	return images
}

// saved returns an image in the format of docker save.
func saved(t *testing.T, image v1.Image, reference string) []byte {
	t.Helper()
	tag, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := tarball.Write(tag, image, &file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func makeImage(t *testing.T) v1.Image {
	t.Helper()
	image, err := random.Image(4096, 2)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", goruntime.GOARCH
	if image, err = mutate.ConfigFile(image, config); err != nil {
		t.Fatal(err)
	}
	return image
}

func TestImportedImagesReachTheRuntime(t *testing.T) {
	n := newNode(t)
	short := n.imports(saved(t, makeImage(t), "app:1"))[0]
	n.imports(saved(t, makeImage(t), "registry.invalid:5000/team/app:1"))

	// The digest is that of the index; the image is its part for this platform.
	index := n.imports(layoutOfIndex(t, "registry.invalid/indexed:1"))[0]
	byDigest := "registry.invalid/indexed@" + index.Digest
	if id, err := n.pull(byDigest); err != nil || id != index.ID {
		t.Errorf("pull %s: got %s (error %v), want %s", byDigest, id, err, index.ID)
	}

	images, err := n.runtime.ListImages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, image := range images {
		names = append(names, image.References...)
	}
	for _, want := range []string{"docker.io/library/app:1", "registry.invalid:5000/team/app:1", "registry.invalid/indexed:1"} {
		if !strings.Contains(strings.Join(names, " "), want) {
			t.Errorf("the runtime lists %q, want %s among them", names, want)
		}
	}

	t.Run("a newer image takes the name over", func(t *testing.T) {
		newer := n.imports(saved(t, makeImage(t), "app:1"))[0]
		if newer.ID == short.ID {
			t.Error("the image is the same")
		}
	})
	t.Run("the pause image is there", func(t *testing.T) {
		reference, err := n.store.Seed([]byte("a program"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.pull(reference); err != nil {
			t.Error(err)
		}
	})
}

func TestOtherImagesComeFromTheConfiguredRegistry(t *testing.T) {
	n := newNode(t)
	const shared = "nodal.test/busybox:1" // an image in the rig's registry
	theirs, err := n.pull(shared)
	if err != nil {
		t.Fatalf("pull an image that was not imported: %v", err)
	}
	ours := n.imports(saved(t, makeImage(t), shared))[0]
	if ours.ID == theirs {
		t.Fatal("the pulled image differs from the imported one")
	}
}

func TestANewAddressNeedsNoRestart(t *testing.T) {
	n := newNode(t)
	stop := n.serve()
	stop()
	if _, err := n.pull("nodal.test/busybox:1"); err != nil {
		t.Errorf("with the agent away: pull from elsewhere: %v", err)
	}
	n.serve()
	n.imports(saved(t, makeImage(t), "registry.invalid/app:1"))
}

func TestABrokenConfigurationClosesItsRegistry(t *testing.T) {
	n := newNode(t)
	path := filepath.Join(n.hosts, "nodal.test", "hosts.toml")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	server, err := registry.Listen(n.store)
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(t.Context())
	write := func(text []byte) error {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return registry.WriteHosts(n.hosts, filepath.Join(n.rig.Dir, "hosts"), server.Mirror())
	}
	if err := write(append([]byte("server = \n"), whole...)); err == nil || !strings.Contains(err.Error(), path+": line 1") {
		t.Errorf("got %v, want an error about line 1 of %s", err, path)
	}
	if id, err := n.pull("nodal.test/busybox:1"); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("got %s (error %v), want that it is not found", id, err)
	}
	n.imports(saved(t, makeImage(t), "nodal.test/imported:1"))
	if err := write(whole); err != nil {
		t.Fatal(err)
	}
	if _, err := n.pull("nodal.test/busybox:1"); err != nil {
		t.Errorf("after it was mended: %v", err)
	}
}

func TestAPrivateRegistryIsReachedWithItsAuthorityAndItsCredentials(t *testing.T) {
	n := newNode(t)
	images := imageregistry.New(imageregistry.Logger(log.New(io.Discard, "", 0)))
	private := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "user" || password != "pass" {
			http.Error(w, "no credentials", http.StatusForbidden)
			return
		}
		images.ServeHTTP(w, r)
	}))
	defer private.Close()
	host := strings.TrimPrefix(private.URL, "https://")
	push(t, private, host+"/app:1")

	dir := filepath.Join(n.hosts, strings.Replace(host, ":", "_", 1)+"_")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: private.Certificate().Raw})
	configuration := `server = "` + private.URL + `"
ca = "ca.pem"

[host."` + private.URL + `"]
  ca = "ca.pem"
  [host."` + private.URL + `".header]
    Authorization = "Basic dXNlcjpwYXNz"
`
	for file, text := range map[string][]byte{"ca.pem": authority, "hosts.toml": []byte(configuration)} {
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.serve()
	if _, err := n.pull(host + "/app:1"); err != nil {
		t.Error(err)
	}
}

// push pushes an image to a registry that asks for credentials.
func push(t *testing.T, server *httptest.Server, reference string) {
	t.Helper()
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, makeImage(t), remote.WithTransport(withPassword{server.Client().Transport})); err != nil {
		t.Fatal(err)
	}
}

type withPassword struct{ next http.RoundTripper }

func (p withPassword) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.SetBasicAuth("user", "pass")
	return p.next.RoundTrip(r)
}
