package config

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestTheSocketOfTheBuiltInRuntimeMeansTheBuiltInRuntime(t *testing.T) {
	for _, c := range []struct {
		name             string
		flags            []string
		endpoint, images string
		link             string
	}{
		{"no endpoint", nil, "", "", "/run/nodal/cri.sock"},
		{"the link", []string{"--container-runtime-endpoint=unix:///run/nodal/cri.sock"}, "", "", "/run/nodal/cri.sock"},
		{"the link by another path", []string{"--container-runtime-endpoint=unix:///var/run/nodal/cri.sock", "--image-service-endpoint=unix:///run/nodal/cri.sock"},
			"", "", "/run/nodal/cri.sock"},
		{"another runtime", []string{"--container-runtime-endpoint=unix:///run/containerd/containerd.sock"},
			"unix:///run/containerd/containerd.sock", "unix:///run/containerd/containerd.sock", "/run/nodal/cri.sock"},
		{"beside another socket", []string{"--socket=/run/a/node.sock", "--container-runtime-endpoint=unix:///run/nodal/cri.sock"},
			"unix:///run/nodal/cri.sock", "unix:///run/nodal/cri.sock", "/run/a/cri.sock"},
		{"no socket", []string{"--socket="}, "", "", ""},
	} {
		got := load(t, c.flags...)
		if r := got.Runtime; r.Endpoint != c.endpoint || r.ImageEndpoint != c.images || got.Dirs.RuntimeLink != c.link {
			t.Errorf("%s: got %q, %q and the link %q, want %q, %q and %q", c.name, r.Endpoint, r.ImageEndpoint, got.Dirs.RuntimeLink, c.endpoint, c.images, c.link)
		}
	}
}

func TestASocketInPlaceOfTheLinkIsAnotherRuntime(t *testing.T) {
	dir, err := os.MkdirTemp("", "nodal-") // short: a unix address has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	link := filepath.Join(dir, "cri.sock")
	args := []string{"--socket=" + filepath.Join(dir, "node.sock"), "--container-runtime-endpoint=unix://" + link}
	if err := os.Symlink(filepath.Join(dir, "containerd.sock"), link); err != nil {
		t.Fatal(err)
	}
	if got := load(t, args...).Runtime.Endpoint; got != "" {
		t.Errorf("with the link, the endpoint is %q, want the built-in runtime", got)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", link)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if got := load(t, args...).Runtime.Endpoint; got != "unix://"+link {
		t.Errorf("with a socket of another, the endpoint is %q, want that", got)
	}
}
