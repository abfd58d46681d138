package plugin

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"nodal/node"
	"nodal/node/store"
)

// peer is a plugin on a socket.
type peer struct {
	registerapi.UnimplementedRegistrationServer
	info  *registerapi.PluginInfo // nil never answers
	heard chan *registerapi.RegistrationStatus

	server *grpc.Server
	socket *net.UnixListener
}

func (p *peer) GetInfo(ctx context.Context, _ *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	if p.info == nil {
		<-ctx.Done()
		return nil, ctx.Err() // an empty answer could still arrive before the deadline is seen
	}
	return p.info, nil
}

func (p *peer) NotifyRegistrationStatus(
	_ context.Context, status *registerapi.RegistrationStatus,
) (*registerapi.RegistrationStatusResponse, error) {
	p.heard <- status
	return &registerapi.RegistrationStatusResponse{}, nil
}

// serve starts a plugin at a path.
func serve(t *testing.T, path string, info *registerapi.PluginInfo) *peer {
	t.Helper()
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{info: info, heard: make(chan *registerapi.RegistrationStatus, 10), server: grpc.NewServer(), socket: socket}
	registerapi.RegisterRegistrationServer(p.server, p)
	go func() { _ = p.server.Serve(socket) }() // it ends with the test
	t.Cleanup(p.server.Stop)
	return p
}

// end ends a plugin, which removes its socket.
func (p *peer) end() {
	_ = p.socket.Close() // at once: the server may not have begun to listen
	p.server.Stop()
}

// kill ends a plugin as a signal does: its socket stays behind.
func (p *peer) kill() {
	p.socket.SetUnlinkOnClose(false)
	p.server.Stop()
}

// bench is a registry in a directory of its own. The path is short, as those of sockets have to be.
type bench struct {
	*Registry
	t *testing.T
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := os.MkdirTemp("", "plugins")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r, err := Open(Config{Dir: filepath.Join(dir, "registry"), Board: store.NewPlugins(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.end)
	return &bench{r, t}
}

func (b *bench) path(name string) string { return filepath.Join(b.Dir, name) }

// only scans, and returns the one socket that is there.
func (b *bench) only() node.PluginSocket {
	b.t.Helper()
	if err := b.scan(); err != nil {
		b.t.Fatal(err)
	}
	var there []node.PluginSocket
	for _, p := range b.Board.List() {
		if !p.Gone {
			there = append(there, p.Socket)
		}
	}
	if len(there) != 1 {
		b.t.Fatalf("%d sockets are there, want one: %v", len(there), there)
	}
	return there[0]
}

// until waits for the board to show something.
func (b *bench) until(what string, shows func([]node.Plugin) bool) {
	b.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		changed := b.Board.Changed()
		if shows(b.Board.List()) {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			b.t.Fatalf("waited for %s; the board shows %+v", what, b.Board.List())
		}
	}
}
