package store

import (
	"testing"
	"time"

	"nodal/node"
)

// rang reports whether do gave a board news.
func rang(b *Plugins, do func()) bool {
	changed, before := b.Changed(), b.Revision()
	do()
	select {
	case <-changed:
		return b.Revision() > before
	default:
		return b.Revision() != before
	}
}

func TestBoardOfPluginsRingsForNewsAlone(t *testing.T) {
	b, now := NewPlugins("CSIPlugin"), time.Unix(1000, 0)
	first, second := node.PluginSocket{Name: "a.sock", Birth: "1"}, node.PluginSocket{Name: "a.sock", Birth: "2"}
	info := node.PluginInfo{Type: "CSIPlugin", Name: "disk"}
	answer := node.PluginAnswer{Registered: true}
	for _, step := range []struct {
		name string
		do   func()
		news bool
	}{
		{"a socket", func() { b.Found([]node.PluginSocket{first}, now) }, true},
		{"the same one", func() { b.Found([]node.PluginSocket{first}, now) }, false},
		{"a word", func() { b.Introduced(first, info, now) }, true},
		{"an answer", func() { b.Answered(first, answer) }, true},
		{"a word of a stranger", func() { b.Introduced(second, info, now) }, false},
		{"one made anew", func() { b.Found([]node.PluginSocket{second}, now) }, true},
		{"the end of the former", func() { b.Forget(first) }, true},
		{"which comes once", func() { b.Forget(first) }, false},
		{"its loss, which is late", func() { b.Lost(first, "broken") }, false},
	} {
		if got := rang(b, step.do); got != step.news {
			t.Errorf("%s: news is %t, want %t", step.name, got, step.news)
		}
	}
	if all := b.List(); len(all) != 1 || all[0].Socket != second || all[0].Connected {
		t.Errorf("the board shows %+v, want the second socket alone", all)
	}
	if b.Check(info) != nil || b.Check(node.PluginInfo{Type: "DRAPlugin"}) == nil {
		t.Error("the board serves other types than it was told")
	}
}

func TestPluginThatIsLostHasHeardNothing(t *testing.T) {
	b, now := NewPlugins(), time.Unix(1000, 0)
	socket := node.PluginSocket{Name: "a.sock", Birth: "1"}
	b.Found([]node.PluginSocket{socket}, now)
	b.Introduced(socket, node.PluginInfo{Type: "CSIPlugin", Name: "disk"}, now)
	b.Answered(socket, node.PluginAnswer{Registered: true})
	b.Lost(socket, "broken")
	if got := b.Plugin(socket); got.Connected || got.Answer != nil || got.Fault != "broken" || got.Info.Name != "disk" {
		t.Errorf("got %+v, want a plugin that is lost and known", got)
	}
	turn := b.Plugin(socket).Turn
	b.Introduced(socket, node.PluginInfo{Type: "CSIPlugin", Name: "disk"}, now)
	if got := b.Plugin(socket); got.Turn <= turn || got.Fault != "" {
		t.Errorf("got %+v, want it behind those that came meanwhile", got)
	}
}
