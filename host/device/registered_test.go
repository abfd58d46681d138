package device

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodal/node"
)

func TestAPluginInTheRegistryIsUsedWhileItIsRegistered(t *testing.T) {
	b := newBench(t)
	p := b.serve("registry/gpu.sock", devices("a", "b")...)
	socket := node.PluginSocket{Name: "gpu.sock", Birth: "1"}
	b.Registry.Found([]node.PluginSocket{socket}, time.Now())
	b.Registry.Introduced(socket, node.PluginInfo{Type: Kind, Name: string(gpu), Versions: []string{"v1beta1"}}, time.Now())
	time.Sleep(50 * time.Millisecond)
	if b.Board.Len() != 0 {
		t.Error("a plugin is used that has not been told that it is registered")
	}
	b.Registry.Answered(socket, node.PluginAnswer{Registered: true})
	b.until("a b")
	if got, want := b.Board.Resource(gpu).Plugin, filepath.Join(b.RegistryDir, "gpu.sock"); got != want {
		t.Errorf("its socket is shown as %s, want %s", got, want)
	}
	p.lists <- devices("a")
	b.until("a")
	b.Registry.Found(nil, time.Now())
	b.until("a!")
	<-p.left // or the old stream would take the next list
	p.lists <- devices("a", "b")
	b.Registry.Found([]node.PluginSocket{socket}, time.Now())
	b.until("a b")
	b.serve("other.sock", devices("x")...)
	b.use("other.sock")
	b.until("x")
	b.Registry.Lost(socket, "killed")
	time.Sleep(50 * time.Millisecond)
	b.until("x")
}

func TestPluginsInTheRegistryThatAreRefused(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		name, resource, endpoint, want string
		versions                       []string
	}{
		{"a sound one", string(gpu), "", "", []string{"v1beta1"}},
		{"one with another socket", string(gpu), filepath.Join(b.RegistryDir, "x.sock"), "", []string{"v1", "v1beta1"}},
		{"one with a directory", string(gpu), filepath.Join(b.Dir, "plugins/gpu/x.sock"), "", []string{"v1beta1"}},
		{"another version", string(gpu), "", "not among plugin supported versions", []string{"v1"}},
		{"no version", string(gpu), "", "not among plugin supported versions", nil},
		{"a resource of Kubernetes' own", "cpu", "", "the ResourceName", []string{"v1beta1"}},
		{"an endpoint elsewhere", string(gpu), "/run/x.sock", "is not a socket in", []string{"v1beta1"}},
		{"one that climbs", string(gpu), b.RegistryDir + "/../x.sock", "is not a socket in", []string{"v1beta1"}},
		{"one that is no path", string(gpu), "x.sock", "is not a socket in", []string{"v1beta1"}},
	} {
		err := b.Check(node.PluginInfo{Type: Kind, Name: c.resource, Endpoint: c.endpoint, Versions: c.versions})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}
