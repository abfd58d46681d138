package decide

import (
	"errors"
	"testing"
	"time"

	"nodal/node"
)

func TestPluginIsAskedThenAnsweredThenLeftAlone(t *testing.T) {
	now := time.Unix(1000, 0)
	socket := node.PluginSocket{Name: "a.sock", Birth: "1"}
	yes, no := node.PluginAnswer{Registered: true}, node.PluginAnswer{Reason: "not here"}
	resting := map[string]node.Fault{node.AskPlugin{}.Target(): {Retry: now.Add(time.Second)}}
	for _, c := range []struct {
		name   string
		want   node.PluginWish
		got    node.Plugin
		faults map[string]node.Fault
		plan   string
	}{
		{"one that was found", node.PluginWish{}, node.Plugin{}, nil, "ask plugin a.sock"},
		{"one that could not be asked", node.PluginWish{}, node.Plugin{Fault: "refused"}, resting, "wait 1s"},
		{"one that has said who it is", node.PluginWish{Answer: no}, node.Plugin{Connected: true, Said: now}, nil, "tell plugin a.sock: not here"},
		{"one of which the answer is not known yet", node.PluginWish{}, node.Plugin{Connected: true, Said: now}, nil, ""},
		{"one that was answered", node.PluginWish{Answer: no}, node.Plugin{Connected: true, Said: now, Answer: &no}, nil, ""},
		{"one that has another answer now", node.PluginWish{Answer: yes}, node.Plugin{Connected: true, Said: now, Answer: &no}, nil, "tell plugin a.sock that it is registered"},
		{"one that has just gone away", node.PluginWish{}, node.Plugin{Said: now.Add(-time.Second)}, nil, "wait 9s"},
		{"one that went away long ago", node.PluginWish{}, node.Plugin{Said: now.Add(-time.Hour)}, nil, "ask plugin a.sock"},
		{"one whose socket is gone", node.PluginWish{Gone: true}, node.Plugin{Connected: true, Said: now}, nil, "forget plugin a.sock"},
	} {
		c.want.Socket = socket
		plan := RegisteredPlugin(Asset[node.PluginWish, node.Plugin]{Want: c.want, Look: c.got, Faults: c.faults, Now: now})
		got := ""
		if len(plan.Actions) > 0 {
			got = plan.Actions[0].String()
		} else if !plan.Wake.IsZero() {
			got = "wait " + plan.Wake.Sub(now).String()
		}
		if got != c.plan || len(plan.Actions) > 1 {
			t.Errorf("%s: got %q, want %q", c.name, got, c.plan)
		}
	}
}

func TestTheFirstOfTwoPluginsWithOneNameHasIt(t *testing.T) {
	plugin := func(socket, kind, name string, turn int64) node.Plugin {
		return node.Plugin{
			Socket: node.PluginSocket{Name: socket}, Connected: true, Turn: turn, Info: node.PluginInfo{Type: kind, Name: name},
		}
	}
	check := func(info node.PluginInfo) error {
		if info.Type != "CSIPlugin" {
			return errors.New("not served")
		}
		return nil
	}
	gone, lost := plugin("a.sock", "CSIPlugin", "disk", 1), plugin("a.sock", "CSIPlugin", "disk", 1)
	gone.Gone, lost.Connected = true, false
	for _, c := range []struct {
		name  string
		other node.Plugin
		kind  string
		want  string
	}{
		{"another name", plugin("a.sock", "CSIPlugin", "share", 1), "CSIPlugin", ""},
		{"another type", plugin("a.sock", "DRAPlugin", "disk", 1), "CSIPlugin", ""},
		{"the same name, and the other was first", plugin("a.sock", "CSIPlugin", "disk", 1), "CSIPlugin", `plugin "disk" of type "CSIPlugin" is there already, at a.sock`},
		{"the same name, and the other was second", plugin("a.sock", "CSIPlugin", "disk", 3), "CSIPlugin", ""},
		{"the other is gone", gone, "CSIPlugin", ""},
		{"the other is lost", lost, "CSIPlugin", ""},
		{"a type that is not served", plugin("a.sock", "CSIPlugin", "share", 1), "DevicePlugin", "not served"},
	} {
		p := plugin("b.sock", c.kind, "disk", 2)
		got := PluginAnswer(p, []node.Plugin{c.other, p}, check)
		if got.Reason != c.want || got.Registered != (c.want == "") {
			t.Errorf("%s: got %+v, want the reason %q", c.name, got, c.want)
		}
	}
}
