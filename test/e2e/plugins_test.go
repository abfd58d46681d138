package e2e

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"nodal/test/claim"
)

// driver is a plugin of a type that no part of the node uses.
type driver struct {
	registerapi.UnimplementedRegistrationServer
	socket *net.UnixListener
	server *grpc.Server
	heard  chan string
}

func (d *driver) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{
		Type: "ClockPlugin", Name: "disk.example.com", Endpoint: "/clock.sock", SupportedVersions: []string{"1.0.0"},
	}, nil
}

func (d *driver) NotifyRegistrationStatus(
	_ context.Context, s *registerapi.RegistrationStatus,
) (*registerapi.RegistrationStatusResponse, error) {
	d.heard <- s.GetError()
	return &registerapi.RegistrationStatusResponse{}, nil
}

// drive starts a plugin at a path.
func drive(t *testing.T, path string) *driver {
	t.Helper()
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	d := &driver{socket: socket, server: grpc.NewServer(), heard: make(chan string, 10)}
	registerapi.RegisterRegistrationServer(d.server, d)
	go func() { _ = d.server.Serve(socket) }() // it ends with the test
	t.Cleanup(d.server.Stop)
	return d
}

// shownPlugin is a plugin as the API shows it.
type shownPlugin struct {
	Socket, Type, Name, Endpoint, Message string
	Connected, Registered                 bool
}

// plugins reads which plugins there are.
func (n *node) plugins() []shownPlugin {
	n.t.Helper()
	var answer struct{ Plugins []shownPlugin }
	got := n.curl("/v1/node/plugins")
	if err := json.Unmarshal([]byte(got.body), &answer); err != nil || got.code != 200 {
		n.t.Fatalf("the node answers %s, %v", got, err)
	}
	return answer.Plugins
}

// waitPlugin waits until the API shows one plugin, and that as it should.
func (n *node) waitPlugin(what string, is func(shownPlugin) bool) {
	n.t.Helper()
	n.eventually("the plugin to be "+what, func() bool {
		all := n.plugins()
		return len(all) == 1 && is(all[0])
	})
}

func TestPluginsRegisterAndAreSeenToLiveAndDie(t *testing.T) {
	claim.Shows(t, "Plugins",
		"a plugin that registers in the node's directory is asked who it is and told whether it is registered, and the API shows both",
		"a plugin of a type that no part of the node uses is told so",
		"a plugin that dies beside its socket is shown as not connected, one whose socket goes is shown no more, and one that comes back is asked again; pods run on",
		"plugins are asked and told again by the next agent",
	)
	n := start(t)
	n.apply(web("web").yaml())
	before := containerStatus(n.waitRunning("web"), "main")
	path := filepath.Join(n.Root(), "plugins_registry", "disk.sock")
	const told = `plugin type "ClockPlugin" is not served by this node`
	lives := func(p shownPlugin) bool {
		return p.Socket == "disk.sock" && p.Type == "ClockPlugin" && p.Name == "disk.example.com" && p.Endpoint == "/clock.sock" &&
			p.Connected && !p.Registered && p.Message == told
	}
	d := drive(t, path)
	if got := <-d.heard; got != told {
		t.Errorf("the plugin hears %q, want %q", got, told)
	}
	n.waitPlugin("there", lives)

	n.Kill()
	n.up()
	if got := <-d.heard; got != told {
		t.Errorf("from the next agent the plugin hears %q, want %q", got, told)
	}
	n.waitPlugin("there again", lives)

	d.socket.SetUnlinkOnClose(false) // as a program that is killed
	d.server.Stop()
	n.waitPlugin("lost", func(p shownPlugin) bool { return p.Name == "disk.example.com" && !p.Connected && p.Message != "" })
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	d = drive(t, path)
	if got := <-d.heard; got != told {
		t.Errorf("when it is back the plugin hears %q, want %q", got, told)
	}
	n.waitPlugin("back", lives)
	d.server.Stop() // which removes its socket
	n.eventually("no plugin to be shown", func() bool { return len(n.plugins()) == 0 })
	if after := containerStatus(n.waitRunning("web"), "main"); after.ContainerID != before.ContainerID || after.RestartCount != 0 {
		t.Errorf("the pod was %+v and is %+v, want it to run on", before, after)
	}
}
