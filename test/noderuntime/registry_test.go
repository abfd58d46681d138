package noderuntime

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	upstream "github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/registry"
	"nodal/host/runtime"
	"nodal/test/rig"
)

// The registry's authority and its credentials stand in the user's files only.
func TestRegistryIsReachedWithTheUsersConfiguration(t *testing.T) {
	n := newNode(t)
	r := n.start()
	defer r.Close()
	private := httptest.NewTLSServer(locked(upstream.New(upstream.Logger(log.New(io.Discard, "", 0)))))
	defer private.Close()
	image := push(t, private)
	ours, err := registry.Listen(openImages(t))
	if err != nil {
		t.Fatal(err)
	}
	go ours.Serve(t.Context())
	hosts := registry.Hosts{User: t.TempDir(), Effective: runtime.RegistriesDir(n.config.RootDir), Mirror: ours.Mirror()}
	pull := func() error {
		if err := hosts.Write(); err != nil {
			t.Fatal(err)
		}
		_, err := n.images.PullImage(t.Context(), &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: image}})
		return err
	}
	if err := pull(); err == nil {
		t.Error("pulled from a registry without a trusted authority")
	}
	dir := filepath.Join(hosts.User, private.Listener.Addr().String())
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: private.Certificate().Raw}))
	for name, text := range map[string]string{
		"ca.pem":     authority,
		"hosts.toml": fmt.Sprintf("[host.%[1]q]\n  ca = \"ca.pem\"\n  [host.%[1]q.header]\n    Authorization = %[2]q\n", private.URL, basic),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := pull(); err != nil {
		t.Errorf("pull: %v", err)
	}
}

// basic is the header for the user "me" with the password "hunter2".
const basic = "Basic bWU6aHVudGVyMg=="

func locked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != basic {
			http.Error(w, "no credentials", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func push(t *testing.T, server *httptest.Server) string {
	t.Helper()
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "https://") + "/team/app:1")
	if err != nil {
		t.Fatal(err)
	}
	var saved bytes.Buffer
	if err := rig.Save(&saved, "busybox"); err != nil {
		t.Fatal(err)
	}
	image, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(saved.Bytes())), nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = remote.Write(ref, image, remote.WithTransport(server.Client().Transport), remote.WithAuth(&authn.Basic{Username: "me", Password: "hunter2"}))
	if err != nil {
		t.Fatal(err)
	}
	return ref.String()
}

func openImages(t *testing.T) *registry.Store {
	t.Helper()
	store, err := registry.Open(registry.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return store
}
