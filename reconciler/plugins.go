package reconciler

import (
	"nodal/node"
	"nodal/reconciler/decide"
)

// takePlugins has the loop look again at the plugins, if their board has news.
func (l *Loop) takePlugins() (news bool) {
	if l.Plugins == nil || l.Plugins.Revision() == l.plugged {
		return false
	}
	l.plugged = l.Plugins.Revision()
	for _, t := range l.Assets() {
		if t.asset.Key.Kind == node.RegisteredPlugin {
			t.Doubt(l.Stamp())
			l.untended[t.asset.Key] = true
		}
	}
	return true
}

// wantedPlugins derives from the sockets in the registry which plugins have to be asked, what each has to hear, and
// which have to be forgotten.
func (l *Loop) wantedPlugins() (wanted []node.Asset) {
	if l.Plugins == nil {
		return nil
	}
	all := l.Plugins.List()
	for _, p := range all {
		wish := node.PluginWish{Socket: p.Socket, Gone: p.Gone}
		if p.Connected {
			wish.Answer = decide.PluginAnswer(p, all, l.Plugins.Serves)
		}
		key := node.AssetKey{Kind: node.RegisteredPlugin, Name: p.Socket.Name + " " + p.Socket.Birth}
		wanted = append(wanted, node.Asset{Key: key, Plugin: wish})
	}
	return wanted
}

// pluginNews returns a channel that is closed when the board of plugins next changes.
func (l *Loop) pluginNews() <-chan struct{} {
	if l.Plugins == nil {
		return nil
	}
	return l.Plugins.Changed()
}
