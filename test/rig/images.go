package rig

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	imageregistry "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// registry serves images from memory on loopback, where containerd asks for no
// TLS and no configuration.
type registry struct {
	server *httptest.Server
	host   string

	mu   sync.Mutex
	sent map[string]int // the number of requests for each blob, by digest
}

// repositories maps the short names of tests to the names in manifests.
var repositories = map[string]string{
	"pause":   "nodal.test/pause:1",
	"probe":   "nodal.test/probe:1",
	"probe2":  "nodal.test/probe:2",
	"busybox": "nodal.test/busybox:1",
}

func serveImages() (*registry, error) {
	r := &registry{sent: map[string]int{}}
	server := httptest.NewServer(r.counting(imageregistry.New(imageregistry.Logger(log.New(io.Discard, "", 0)))))
	r.server, r.host = server, strings.TrimPrefix(server.URL, "http://")
	images, err := builtImages()
	if err != nil {
		server.Close()
		return nil, err
	}
	for short, image := range images {
		if err := r.push(r.reference(short), image); err != nil {
			server.Close()
			return nil, err
		}
	}
	return r, nil
}

// counting counts the requests for each blob of a registry.
func (r *registry) counting(registry http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if _, digest, ok := strings.Cut(request.URL.Path, "/blobs/"); ok && request.Method == http.MethodGet {
			r.mu.Lock()
			r.sent[digest]++
			r.mu.Unlock()
		}
		registry.ServeHTTP(w, request)
	})
}

func (r *registry) reference(short string) string {
	repository, ok := repositories[short]
	if !ok {
		repository = short
	}
	return r.host + "/" + repository
}

// pushes has connections of its own: when an httptest.Server closes, it closes the idle connections
// of http.DefaultTransport, and with them the requests of other tests.
var pushes = &http.Transport{DisableKeepAlives: true} // no proxy either

func (r *registry) push(reference string, image v1.Image) error {
	ref, err := name.ParseReference(reference, name.Insecure)
	if err != nil {
		return fmt.Errorf("parse image reference %q: %w", reference, err)
	}
	if err := remote.Write(ref, image, remote.WithTransport(pushes)); err != nil {
		return fmt.Errorf("push %s: %w", reference, err)
	}
	return nil
}

// Image returns the reference to use in a manifest. "probe", its second version "probe2", "busybox"
// and "pause" exist from the start. Any other name is a repository of the rig's registry, such as
// one made by Push. The names work without the registry's address too: nodal.test/busybox:1.
func (r *Runtime) Image(short string) string { return r.registry.reference(short) }

// Push puts an image into the rig's registry and returns its reference.
func (r *Runtime) Push(repository string, image v1.Image) (string, error) {
	reference := r.Image(repository)
	return reference, r.registry.push(reference, image)
}

// Sent returns the number of requests to the rig's registry for a blob.
func (r *Runtime) Sent(digest v1.Hash) int {
	r.registry.mu.Lock()
	defer r.registry.mu.Unlock()
	return r.registry.sent[digest.String()]
}

// builtImages builds the test images, once for each test binary.
var builtImages = sync.OnceValues(func() (map[string]v1.Image, error) {
	probe, err := probeBinary()
	if err != nil {
		return nil, err
	}
	busybox, err := busyboxFiles()
	if err != nil {
		return nil, err
	}
	files := []file{{name: "probe", data: probe}, {name: "tmp/", mode: 0o1777}}
	second := append(files[:2:2], file{name: "version", data: []byte("2\n")})
	images := map[string]v1.Image{}
	for _, b := range []struct {
		short string
		files []file
		entry []string
		args  []string
	}{
		{"pause", files, []string{"/probe", "pause"}, nil},
		{"probe", files, []string{"/probe"}, []string{"pause"}},
		{"probe2", second, []string{"/probe"}, []string{"pause"}},
		{"busybox", busybox, nil, []string{"sh"}},
	} {
		if images[b.short], err = buildImage(b.files, b.entry, b.args); err != nil {
			return nil, fmt.Errorf("build the %s image: %w", b.short, err)
		}
	}
	return images, nil
})

// probeBinary compiles the probe, or reads the one that NODAL_PROBE names: a full test run compiles
// it once for all packages, and a machine without Go needs it.
func probeBinary() ([]byte, error) {
	if path := os.Getenv("NODAL_PROBE"); path != "" {
		return os.ReadFile(path)
	}
	dir, err := os.MkdirTemp("", "nodal-probe-")
	if err != nil {
		return nil, fmt.Errorf("create a build directory: %w", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "probe")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "nodal/test/rig/testimage")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the probe: %w\n%s", err, out)
	}
	return os.ReadFile(path)
}

// busyboxFiles returns Debian's static busybox with a link for every applet.
func busyboxFiles() ([]file, error) {
	path, err := exec.LookPath("busybox")
	if err != nil {
		return nil, fmt.Errorf("find busybox (Debian package busybox-static): %w", err)
	}
	binary, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read busybox: %w", err)
	}
	defer binary.Close()
	for _, p := range binary.Progs {
		if p.Type == elf.PT_INTERP {
			return nil, errors.New("busybox is linked dynamically: install Debian package busybox-static")
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read busybox: %w", err)
	}
	applets, err := exec.Command(path, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("list busybox applets: %w", err)
	}
	files := []file{
		{name: "bin/busybox", data: data}, {name: "tmp/", mode: 0o1777},
		{name: "etc/passwd", data: []byte("root:x:0:0:root:/:/bin/sh\nmember:x:1002:1002:member:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")},
		{name: "etc/group", data: []byte("root:x:0:\nmember:x:1002:\nteam:x:6000:member\n")},
	}
	for applet := range strings.FieldsSeq(string(applets)) {
		if applet != "busybox" {
			files = append(files, file{name: "bin/" + applet, link: "busybox"})
		}
	}
	return files, nil
}

// file is one entry of an image's only layer; a name that ends in a slash is a directory.
type file struct {
	name string
	data []byte
	link string
	mode int64
}

func (f file) header() *tar.Header {
	h := &tar.Header{Name: f.name, Mode: 0o755, Size: int64(len(f.data)), Typeflag: tar.TypeReg}
	switch {
	case f.link != "":
		h.Typeflag, h.Linkname = tar.TypeSymlink, f.link
	case strings.HasSuffix(f.name, "/"):
		h.Typeflag = tar.TypeDir
	}
	if f.mode != 0 {
		h.Mode = f.mode
	}
	return h
}

func buildImage(files []file, entry, args []string) (v1.Image, error) {
	var layerTar bytes.Buffer
	w := tar.NewWriter(&layerTar)
	for _, f := range files {
		if err := w.WriteHeader(f.header()); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	// Compressed once: every rig pushes it. Under the race detector compressing takes longer than
	// all else that a rig does.
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layerTar.Bytes())), nil
	}, tarball.WithCompressedCaching, tarball.WithCompressionLevel(gzip.BestSpeed))
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, &v1.ConfigFile{
		Architecture: runtime.GOARCH,
		OS:           "linux",
		Config:       v1.Config{Entrypoint: entry, Cmd: args, Env: []string{"PATH=/bin"}},
		RootFS:       rootFS(image),
	})
}

// rootFS returns the layer digests that a replaced configuration must still name.
func rootFS(image v1.Image) v1.RootFS {
	config, err := image.ConfigFile()
	if err != nil {
		return v1.RootFS{Type: "layers"}
	}
	return config.RootFS
}

// Save writes a test image in the format of docker save, under its name in manifests.
func Save(w io.Writer, short string) error {
	images, err := builtImages()
	if err != nil {
		return err
	}
	image, ok := images[short]
	if !ok {
		return fmt.Errorf("save image %q: there is none", short)
	}
	tag, err := name.NewTag(repositories[short])
	if err != nil {
		return fmt.Errorf("save image %q: %w", short, err)
	}
	return tarball.Write(tag, image, w)
}
