package server

import (
	"strings"
	"testing"
	"time"

	"nodal/node"
	"nodal/node/store"
)

func TestDevicesAreShownWithTheirNumbers(t *testing.T) {
	board := store.NewDevices()
	n := newNode(t, func(c *Config) { c.State.Devices = board })
	board.Registered("example.com/gpu", "gpu.sock", false, time.Unix(1000, 0))
	board.Listed("example.com/gpu", []node.Device{{ID: "a", Healthy: true}, {ID: "b"}})
	for _, want := range []string{
		`"devices":[{"name":"example.com/gpu","socket":"gpu.sock","connected":true,"capacity":2,"healthy":1}]`,
		`"capacity":2,"message":"killed","lostAt":`,
	} {
		if got := n.do(t, "GET", "/v1/node/plugins", ""); !strings.Contains(got.body, want) {
			t.Errorf("got %s, want %s", got.body, want)
		}
		board.Lost("example.com/gpu", "killed", time.Now())
	}
}

func TestPluginsAreShownWithWhatTheyWereTold(t *testing.T) {
	board := store.NewPlugins()
	n := newNode(t, func(c *Config) { c.State.Plugins = board })
	socket := node.PluginSocket{Name: "disk.sock", Birth: "1"}
	info := node.PluginInfo{Type: "CSIPlugin", Name: "disk", Endpoint: "/csi.sock", Versions: []string{"1.0.0"}}
	now := time.Unix(1000, 0)
	for _, c := range []struct {
		name string
		do   func(*store.Plugins)
		want string
		none string
	}{
		{"none yet", func(*store.Plugins) {}, "{}", "plugins"},
		{"a socket", func(b *store.Plugins) { b.Found([]node.PluginSocket{socket}, now) }, `"socket":"disk.sock"`, "connected"},
		{"one that cannot be reached", func(b *store.Plugins) { b.Failed(socket, "refused") }, `"message":"refused"`, "connected"},
		{"one that has said who it is", func(b *store.Plugins) { b.Introduced(socket, info, now) }, `"type":"CSIPlugin","name":"disk","endpoint":"/csi.sock","versions":["1.0.0"],"connected":true`, "refused"},
		{"one that was refused", func(b *store.Plugins) { b.Answered(socket, node.PluginAnswer{Reason: "not here"}) }, `"message":"not here"`, "registered"},
		{"one that was taken", func(b *store.Plugins) { b.Answered(socket, node.PluginAnswer{Registered: true}) }, `"registered":true`, "message"},
		{"one that is gone", func(b *store.Plugins) { b.Found(nil, now) }, "{}", "plugins"},
	} {
		c.do(board)
		got := n.do(t, "GET", "/v1/node/plugins", "")
		if got.status != 200 || !strings.Contains(got.body, c.want) || strings.Contains(got.body, `"`+c.none+`"`) {
			t.Errorf("%s: got %d %s, want %s and no %s", c.name, got.status, got.body, c.want, c.none)
		}
	}
}

func TestVolumesOfCSIDriversAreShown(t *testing.T) {
	n := newNode(t, func(c *Config) {
		c.Machine.CSIVolumes = func() []node.CSIVolume { return []node.CSIVolume{{Driver: "disk", Handle: "a/b"}} }
	})
	if got, want := n.do(t, "GET", "/v1/node/plugins", ""), `"csiVolumes":[{"driver":"disk","handle":"a/b"}]`; !strings.Contains(got.body, want) {
		t.Errorf("got %s, want %s", got.body, want)
	}
}
