package store

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"nodal/node"
)

// Plugins is the board of the plugins that are there. The adapter of their sockets writes what it sees. The loop
// decides by it what is done. A part that uses plugins reads the registered ones of its type, and reads again when
// the board rings.
type Plugins struct {
	served map[string]func(node.PluginInfo) error // what is wrong with a plugin, by type

	mu       sync.RWMutex
	known    map[node.PluginSocket]*node.Plugin
	turns    int64
	revision int64
	told     node.Bell
}

// NewPlugins returns a board without plugins, of a node that serves these types.
func NewPlugins(served ...string) *Plugins {
	b := &Plugins{served: map[string]func(node.PluginInfo) error{}, known: map[node.PluginSocket]*node.Plugin{}}
	for _, kind := range served {
		b.Serve(kind, func(node.PluginInfo) error { return nil })
	}
	return b
}

// Serve has plugins of a type registered if a check finds nothing wrong with them. It is called before the board is used.
func (b *Plugins) Serve(kind string, check func(node.PluginInfo) error) { b.served[kind] = check }

// Check returns why a plugin is not registered, or nil.
func (b *Plugins) Check(info node.PluginInfo) error {
	check, ok := b.served[info.Type]
	if !ok {
		return fmt.Errorf("plugin type %q is not served by this node", info.Type)
	}
	return check(info)
}

// Found says which sockets there are now. The others are gone.
func (b *Plugins) Found(sockets []node.PluginSocket, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	news := false
	for socket, p := range b.known {
		gone := !slices.Contains(sockets, socket)
		news = news || gone != p.Gone
		p.Gone = gone
	}
	for _, socket := range sockets {
		if b.known[socket] == nil {
			b.known[socket] = &node.Plugin{Socket: socket, Found: at}
			news = true
		}
	}
	b.ring(news)
}

// Introduced says who a plugin is, over a connection that stands.
func (b *Plugins) Introduced(socket node.PluginSocket, info node.PluginInfo, at time.Time) {
	b.write(socket, func(p *node.Plugin) {
		b.turns++
		p.Connected, p.Said, p.Turn, p.Info, p.Fault = true, at, b.turns, info, ""
	})
}

// Answered says what a plugin has heard.
func (b *Plugins) Answered(socket node.PluginSocket, answer node.PluginAnswer) {
	b.write(socket, func(p *node.Plugin) { p.Answer, p.Fault = &answer, "" })
}

// Failed says why a plugin could not be asked or answered.
func (b *Plugins) Failed(socket node.PluginSocket, why string) {
	b.write(socket, func(p *node.Plugin) { p.Fault = why })
}

// Lost says that the connection to a plugin is broken. What the plugin has heard is void: another process may be
// behind the socket.
func (b *Plugins) Lost(socket node.PluginSocket, why string) {
	b.write(socket, func(p *node.Plugin) { p.Connected, p.Answer, p.Fault = false, nil, why })
}

// Forget drops a plugin.
func (b *Plugins) Forget(socket node.PluginSocket) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, known := b.known[socket]
	delete(b.known, socket)
	b.ring(known)
}

// write changes what is known of a plugin. It ignores one that was forgotten meanwhile.
func (b *Plugins) write(socket node.PluginSocket, change func(*node.Plugin)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.known[socket]; p != nil {
		change(p)
		b.ring(true)
	}
}

func (b *Plugins) ring(news bool) {
	if news {
		b.revision++
		b.told.Ring()
	}
}

// Revision returns a number that grows with each change.
func (b *Plugins) Revision() int64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.revision
}

// Changed returns a channel that is closed when the board next changes. Take it before List.
func (b *Plugins) Changed() <-chan struct{} { return b.told.Heard() }

// Plugin returns what is known of a plugin, or the zero value.
func (b *Plugins) Plugin(socket node.PluginSocket) node.Plugin {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if p := b.known[socket]; p != nil {
		return *p
	}
	return node.Plugin{}
}

// List returns all plugins in the order of their sockets.
func (b *Plugins) List() []node.Plugin {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var list []node.Plugin
	for _, p := range b.known {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(x, y node.Plugin) int {
		return cmp.Or(cmp.Compare(x.Socket.Name, y.Socket.Name), cmp.Compare(x.Socket.Birth, y.Socket.Birth))
	})
	return list
}

// Has reports whether there is a plugin of a type.
func (b *Plugins) Has(kind string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, p := range b.known {
		if p.Info.Type == kind {
			return true
		}
	}
	return false
}

// Registered returns the plugin of a type that is registered under a name, over a connection that stands.
func (b *Plugins) Registered(kind, name string) (node.Plugin, bool) {
	for _, p := range b.List() {
		if p.Info.Type == kind && p.Info.Name == name && p.Connected && !p.Gone && p.Answer != nil && p.Answer.Registered {
			return p, true
		}
	}
	return node.Plugin{}, false
}

// Driver returns the plugin of a CSI driver. One that has lost its connection counts as long as no other has its name:
// the program that registers a driver is often another than the driver.
func (b *Plugins) Driver(name string) (driver node.Plugin, ok bool) {
	for _, p := range b.List() {
		fits := p.Info.Type == node.CSIPlugin && p.Info.Name == name && p.Info.Driver != nil && !p.Gone
		if fits && (!ok || p.Connected && !driver.Connected || p.Connected == driver.Connected && p.Turn < driver.Turn) {
			driver, ok = p, true
		}
	}
	return driver, ok
}
