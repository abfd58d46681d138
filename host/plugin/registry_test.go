package plugin

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"nodal/node"
)

func csi(name string) *registerapi.PluginInfo {
	return &registerapi.PluginInfo{Type: "CSIPlugin", Name: name, Endpoint: "/csi.sock", SupportedVersions: []string{"1.0.0"}}
}

func TestPluginIsAskedAndAnsweredOverOneConnection(t *testing.T) {
	b := newBench(t)
	p := serve(t, b.path("a.sock"), csi("disk"))
	socket := b.only()
	if err := b.Ask(t.Context(), socket); err != nil {
		t.Fatal(err)
	}
	got := b.Board.Plugin(socket)
	if !got.Connected || got.Info.Type != "CSIPlugin" || got.Info.Name != "disk" || got.Info.Endpoint != "/csi.sock" || len(got.Info.Versions) != 1 {
		t.Errorf("the board shows %+v, want what the plugin said", got)
	}
	for _, answer := range []node.PluginAnswer{{Reason: "not here"}, {Registered: true}} {
		if err := b.Answer(t.Context(), socket, answer); err != nil {
			t.Fatal(err)
		}
		if heard := <-p.heard; heard.GetPluginRegistered() != answer.Registered || heard.GetError() != answer.Reason {
			t.Errorf("the plugin heard %v, want %v", heard, answer)
		}
		if got := b.Board.Plugin(socket).Answer; got == nil || *got != answer {
			t.Errorf("the board shows the answer %v, want %v", got, answer)
		}
	}
	b.Forget(socket)
	if got := b.Board.List(); len(got) != 0 {
		t.Errorf("after it was forgotten the board shows %+v", got)
	}
	if err := b.Answer(t.Context(), socket, node.PluginAnswer{}); err == nil {
		t.Error("a plugin that was forgotten is answered")
	}
}

func TestPluginThatDiesBesideItsSocketIsLost(t *testing.T) {
	b := newBench(t)
	p := serve(t, b.path("a.sock"), csi("disk"))
	socket := b.only()
	if err := b.Ask(t.Context(), socket); err != nil {
		t.Fatal(err)
	}
	p.kill()
	b.until("the loss", func(all []node.Plugin) bool { return !all[0].Connected })
	if b.only() != socket {
		t.Error("its socket is gone, and was to stay")
	}
	if err := b.Ask(t.Context(), socket); err == nil || !strings.Contains(b.Board.Plugin(socket).Fault, "connection refused") {
		t.Errorf("asked again: %v, and the board shows %q", err, b.Board.Plugin(socket).Fault)
	}
}

func TestSocketThatIsMadeAnewIsAnotherPlugin(t *testing.T) {
	b := newBench(t)
	p := serve(t, b.path("a.sock"), csi("disk"))
	former := b.only()
	held, _, err := open(b.Dir, former.Name) // so that its inode is not used again
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(held)
	p.end()
	serve(t, b.path("a.sock"), csi("other"))
	if err := b.Ask(t.Context(), former); err == nil || !strings.Contains(err.Error(), "another socket") {
		t.Errorf("the former one is asked: %v", err)
	}
	socket := b.only()
	if err := b.Ask(t.Context(), socket); err != nil || b.Board.Plugin(socket).Info.Name != "other" {
		t.Errorf("the new one is asked: %v, %+v", err, b.Board.Plugin(socket))
	}
	if !b.Board.Plugin(former).Gone {
		t.Errorf("the former one is %+v, want it gone", b.Board.Plugin(former))
	}
}

func TestOnlySocketsOfTheDirectoryArePlugins(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(filepath.Dir(b.Dir), "outside.sock")
	serve(t, outside, csi("outside"))
	serve(t, b.path(".hidden.sock"), csi("hidden"))
	for _, err := range []error{
		os.Symlink(outside, b.path("link.sock")), os.Mkdir(b.path("dir.sock"), 0o700),
		os.WriteFile(b.path("file.sock"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if sockets, err := scan(b.Dir); err != nil || len(sockets) != 0 {
		t.Errorf("found %v, %v, want none", sockets, err)
	}
	if conn, err := connect(t.Context(), b.Dir, node.PluginSocket{Name: "link.sock"}); err == nil {
		conn.Close()
		t.Error("a link is followed")
	}
}

func TestWhatNoPluginSaysIsRefused(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		name string
		info *registerapi.PluginInfo
		want string
	}{
		{"nothing", &registerapi.PluginInfo{}, "no type"},
		{"no name", &registerapi.PluginInfo{Type: "CSIPlugin"}, "no name"},
		{"a long name", csi(long), "253 bytes"},
		{"many versions", &registerapi.PluginInfo{Type: "CSIPlugin", Name: "a", SupportedVersions: make([]string, 17)}, "16 versions"},
		{"a long version", &registerapi.PluginInfo{Type: "CSIPlugin", Name: "a", SupportedVersions: []string{long}}, "versions has"},
		{"a long endpoint", &registerapi.PluginInfo{Type: "CSIPlugin", Name: "a", Endpoint: strings.Repeat("x", 5000)}, "endpoint"},
		{"more than a message may hold", csi(strings.Repeat("x", 1<<20)), "ResourceExhausted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			serve(t, b.path("a.sock"), c.info)
			socket := b.only()
			err := b.Ask(t.Context(), socket)
			if got := b.Board.Plugin(socket); err == nil || got.Connected || !strings.Contains(got.Fault, c.want) {
				t.Errorf("got %v, and the board shows %+v, want %q", err, got, c.want)
			}
		})
	}
}

func TestPluginThatHangsIsGivenUp(t *testing.T) {
	b := newBench(t)
	serve(t, b.path("a.sock"), nil)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	socket := b.only()
	if err := b.Ask(ctx, socket); err == nil || !strings.Contains(b.Board.Plugin(socket).Fault, "DeadlineExceeded") {
		t.Errorf("got %v, and the board shows %q, want it given up", err, b.Board.Plugin(socket).Fault)
	}
}

func TestSocketsThatComeAndGoAreFoundAtOnce(t *testing.T) {
	b := newBench(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); b.Run(ctx) }()
	defer func() { stop(); <-ended }()
	for round := range 3 {
		p := serve(t, b.path("a.sock"), csi("disk"))
		there := func(all []node.Plugin) bool { return len(all) == round+1 }
		b.until(fmt.Sprintf("socket %d", round), there)
		p.end()
		b.until("its end", func(all []node.Plugin) bool {
			for _, p := range all {
				if !p.Gone {
					return false
				}
			}
			return true
		})
	}
}

func TestSocketsWithoutEndAreBounded(t *testing.T) {
	b := newBench(t)
	for i := range mostSockets + 5 {
		socket, err := net.Listen("unix", b.path(fmt.Sprintf("%d.sock", i)))
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
	}
	if sockets, err := scan(b.Dir); err != nil || len(sockets) != mostSockets {
		t.Errorf("found %d, %v, want %d", len(sockets), err, mostSockets)
	}
}

func TestDirectoryThatCannotBeReadChangesNothing(t *testing.T) {
	b := newBench(t)
	serve(t, b.path("a.sock"), csi("disk"))
	socket := b.only()
	moved := b.Dir + ".moved"
	if err := os.Rename(b.Dir, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.Dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.scan(); err == nil || b.Board.Plugin(socket).Gone {
		t.Errorf("a file in its place: %v, and the plugin is %+v", err, b.Board.Plugin(socket))
	}
	if err := os.Remove(b.Dir); err != nil {
		t.Fatal(err)
	}
	if err := b.scan(); err != nil || !b.Board.Plugin(socket).Gone {
		t.Errorf("a directory that is gone: %v, and the plugin is %+v, want it gone", err, b.Board.Plugin(socket))
	}
}
