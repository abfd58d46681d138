package e2e

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	upstream "github.com/google/go-containerregistry/pkg/registry"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/claim"
	"nodal/test/daemon"
)

// TestAFailedPullNamesTheReasonOfItsRegistry runs the node on its own runtime, which asks for what was imported before
// it asks a registry.
func TestAFailedPullNamesTheReasonOfItsRegistry(t *testing.T) {
	claim.Shows(t, "Images",
		"a pull that fails names the registry's own reason: no such host, connection refused, missing credentials, no such manifest",
		"a pull that fails names the reason of the mirror that the node's owner configured",
	)
	t.Parallel()
	d := daemon.StartAlone(t)
	open := httptest.NewServer(upstream.New(upstream.Logger(log.New(io.Discard, "", 0))))
	defer open.Close()
	private := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="private"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
	}))
	defer private.Close()
	shut, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing := shut.Addr().String()
	if err := shut.Close(); err != nil {
		t.Fatal(err)
	}
	mirrored := filepath.Join(d.Dir, "registries", "mirrored.test")
	if err := os.MkdirAll(mirrored, 0o700); err != nil {
		t.Fatal(err)
	}
	mirror := fmt.Sprintf("server = \"http://%[1]s\"\n[host.\"http://%[1]s\"]\n", refusing)
	if err := os.WriteFile(filepath.Join(mirrored, "hosts.toml"), []byte(mirror), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pod, image string
		want       []string
	}{
		{"unknown-host", "registry.invalid/team/app:1", []string{"lookup registry.invalid", "no such host"}},
		{"refused", refusing + "/team/app:1", []string{"connection refused"}},
		{"locked", host(private) + "/team/app:1", []string{"401 unauthorized", "imagePullSecrets"}},
		{"absent", host(open) + "/team/app:1", []string{"not found", "manifest unknown"}},
		{"mirrored", "mirrored.test/team/app:1", []string{"http://" + refusing, "connection refused"}},
	} {
		d.Apply(strings.ReplaceAll(shell(c.pod, "exec sleep 1000").yaml(), "nodal.test/busybox:1", c.image))
		all := func(text string) bool {
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					return false
				}
			}
			return true
		}
		d.Await(c.pod+" tells "+strings.Join(c.want, ", "), func(p daemon.Pods) bool {
			return all(p[c.pod].String())
		})
		events, err := nodev1.NewEventsServiceClient(d.Conn()).ListEvents(t.Context(), &nodev1.ListEventsRequest{Namespace: "default", Name: c.pod})
		if err != nil || !all(events.String()) {
			t.Errorf("the events of %s are %v (%v), want %q", c.pod, events, err, c.want)
		}
	}
}

func host(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }
