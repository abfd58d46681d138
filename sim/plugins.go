package sim

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"nodal/node"
	"nodal/node/store"
	"nodal/reconciler"
)

// served is the type of plugins that a simulated node has a use for.
const served = "CSIPlugin"

// SameSocket takes the socket of a plugin that is made again for the one before.
const SameSocket Bug = "taking a socket that is made anew for the one before"

// plugins is the realm of the programs that register on the machine, by the names of their sockets. They have a random
// source of their own.
type plugins struct {
	still
	*world
	rand   *rand.Rand
	faults *faults
	born   int
	there  map[string]*program
	asked  registry // by the agent that started last
}

var _ realm = (*plugins)(nil)

// program is one process of a plugin.
type program struct {
	socket node.PluginSocket
	info   node.PluginInfo
	dead   bool               // its socket is left behind
	heard  *node.PluginAnswer // last
	from   *agent             // that said so
}

func newPlugins(w *world, o Options) *plugins {
	r := rand.New(rand.NewPCG(o.Seed, 3))
	return &plugins{world: w, rand: r, faults: newFaults(r, o.Without), there: map[string]*program{}}
}

func (p *plugins) name() string    { return "RegisteredPlugin" }
func (p *plugins) chance() *faults { return p.faults }

func (p *plugins) kind(a *agent) reconciler.Kind {
	p.asked = registry{p, a, store.NewPlugins(served)}
	return reconciler.RegisteredPlugins(p.asked.board, p.asked)
}

func (p *plugins) boot(*agent) { p.after(p.faults.between(0, time.Second), p.asked.keepScanning) }

// strive changes a random program now and then, and tells the agent, until the time for faults is over.
func (p *plugins) strive(agent func() *agent) {
	pause := time.Duration(p.rand.ExpFloat64() * float64(10*time.Second))
	p.after(pause, func() {
		if p.now < strife {
			p.change()
			p.tell(agent())
			p.strive(agent)
		}
	})
}

// change starts a program at a random socket, kills the one there and leaves its socket, or ends it and removes the
// socket.
func (p *plugins) change() {
	socket := [...]string{"a.sock", "b.sock"}[p.rand.IntN(2)]
	there := p.there[socket]
	switch what := p.rand.IntN(4); {
	case what == 0 && there != nil:
		there.dead = true
		p.trace.addf("world: the plugin at %s is killed", socket)
	case what == 1:
		delete(p.there, socket)
		p.trace.addf("world: the plugin at %s goes", socket)
	default:
		p.born++
		kind := [...]string{served, served, "DevicePlugin"}[p.rand.IntN(3)]
		p.there[socket] = &program{
			socket: node.PluginSocket{Name: socket, Birth: fmt.Sprint(p.born)}, info: node.PluginInfo{Type: kind, Name: "disk"},
		}
		p.trace.addf("world: a %s starts at %s", kind, socket)
	}
}

// tell shows the agent what has changed: always the broken connections, and the sockets three times out of four.
func (p *plugins) tell(a *agent) {
	if a == nil {
		return
	}
	r := p.asked
	p.after(p.faults.between(0, time.Second), func() {
		for _, known := range r.board.List() {
			if known.Connected && p.at(known.Socket) == nil && !a.dead {
				r.board.Lost(known.Socket, "killed")
			}
		}
		if p.rand.IntN(4) > 0 {
			r.scan()
		}
		a.turn()
	})
}

// calm ends the faults of plugins, and removes the sockets that killed programs have left.
func (p *plugins) calm() {
	p.faults.end()
	for socket, one := range p.there {
		if one.dead {
			delete(p.there, socket)
		}
	}
}

// at returns the program that lives behind a socket.
func (p *plugins) at(socket node.PluginSocket) *program {
	if one := p.there[socket.Name]; one != nil && one.socket == socket && !one.dead {
		return one
	}
	return nil
}

// registry is the adapter of plugins for one agent.
type registry struct {
	*plugins
	agent *agent
	board *store.Plugins
}

var _ reconciler.Plugins = registry{}

// scan has the board show the sockets that are there.
func (r registry) scan() {
	if r.agent.dead {
		return
	}
	var sockets []node.PluginSocket
	for _, name := range slices.Sorted(maps.Keys(r.there)) {
		socket := r.there[name].socket
		if r.agent.bug == SameSocket {
			socket = r.first(socket)
		}
		sockets = append(sockets, socket)
	}
	r.board.Found(sockets, r.clock())
}

// first is the bug SameSocket: it returns the first socket of a name that the agent has found.
func (r registry) first(socket node.PluginSocket) node.PluginSocket {
	for _, known := range r.board.List() {
		if known.Socket.Name == socket.Name {
			return known.Socket
		}
	}
	return socket
}

// keepScanning scans now and then, in case an event was lost.
func (r registry) keepScanning() {
	r.scan()
	r.agent.turn()
	if !r.agent.dead {
		r.after(30*time.Second, r.keepScanning)
	}
}

// Ask has a plugin say who it is.
func (r registry) Ask(_ context.Context, socket node.PluginSocket) error {
	one := r.at(socket)
	if one == nil {
		return r.failed(socket)
	}
	r.board.Introduced(socket, one.info, r.clock())
	return nil
}

// Answer tells a plugin that it is registered, or why it is not.
func (r registry) Answer(_ context.Context, socket node.PluginSocket, answer node.PluginAnswer) error {
	one := r.at(socket)
	if one == nil {
		return r.failed(socket)
	}
	one.heard, one.from = &answer, r.agent
	r.witness.answers(r.plugins, one)
	r.board.Answered(socket, answer)
	return nil
}

func (r registry) failed(socket node.PluginSocket) error {
	r.met.addf("plugin: nothing answers at its socket")
	r.board.Failed(socket, "connection refused")
	return refused("PluginFailed", "nothing answers at %s", socket.Name)
}

func (r registry) Forget(socket node.PluginSocket) { r.board.Forget(socket) }

// answers checks that an agent registers only one of the living programs with the same type and name.
func (wi *witness) answers(p *plugins, one *program) {
	switch {
	case one.heard.Registered:
		p.met.addf("plugin: registered")
	case strings.Contains(one.heard.Reason, "already"):
		p.met.addf("plugin: its name is taken")
	default:
		p.met.addf("plugin: its type is not served")
	}
	for _, o := range p.there {
		rival := o != one && !o.dead && o.info.Type == one.info.Type && o.heard != nil && o.from == one.from
		if rival && o.heard.Registered && one.heard.Registered {
			wi.failf("the plugins at %s and %s have one name, and both are registered", o.socket.Name, one.socket.Name)
		}
	}
}

func (p *plugins) bugs() []planted { return []planted{{SameSocket, 1, 500, "has not heard"}} }

func (p *plugins) situations() []string {
	return append(deaths("AskPlugin", "AnswerPlugin", "ForgetPlugin"),
		"plugin: registered", "plugin: its name is taken", "plugin: its type is not served",
		"plugin: nothing answers at its socket",
		"AskPlugin fails", "AnswerPlugin fails after its effect", "AnswerPlugin has no answer",
	)
}

// unsettled returns an error unless the board shows the sockets that there are, each plugin has an answer from this
// agent, one plugin of the served type is registered, and none of another type is.
func (p *plugins) unsettled(a *agent) error {
	var shown []string
	for _, known := range p.asked.board.List() {
		shown = append(shown, known.Socket.Name)
	}
	if want := slices.Sorted(maps.Keys(p.there)); !slices.Equal(shown, want) {
		return fmt.Errorf("the board shows the plugins %q, and there are %q", shown, want)
	}
	winners := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(p.there)) {
		one := p.there[name]
		if one.heard == nil || one.from != a {
			return fmt.Errorf("the plugin at %s has not heard from the agent", name)
		}
		if one.heard.Registered {
			winners[one.info.Type]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.there)) {
		kind, want := p.there[name].info.Type, 0
		if kind == served {
			want = 1
		}
		if winners[kind] != want {
			return fmt.Errorf("%d plugins of type %s are registered, want %d", winners[kind], kind, want)
		}
	}
	return nil
}
