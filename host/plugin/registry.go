package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"nodal/node"
	"nodal/node/store"
)

// Failed is the reason of a plugin that could not be asked or answered.
const Failed = "PluginFailed"

// deadline bounds one conversation with a plugin.
const deadline = 5 * time.Second

// Config describes a registry.
type Config struct {
	Dir   string
	Board *store.Plugins
	Log   *slog.Logger
	// Meet asks the service of a CSI driver what it can do. nil leaves that out.
	Meet func(ctx context.Context, driver node.PluginInfo) (*node.CSIDriver, error)
}

// Registry is a directory in which plugins register.
type Registry struct {
	Config

	mu    sync.Mutex
	links map[node.PluginSocket]*link // to plugins that have said who they are
}

// Open makes the directory, if it is not there.
func Open(c Config) (*Registry, error) {
	if err := os.MkdirAll(c.Dir, 0o750); err != nil {
		return nil, fmt.Errorf("make the plugin registry: %w", err)
	}
	return &Registry{Config: c, links: map[node.PluginSocket]*link{}}, nil
}

// Ask connects to a plugin and has it say who it is. The connection is kept.
func (r *Registry) Ask(ctx context.Context, socket node.PluginSocket) error {
	r.drop(socket)
	l, err := dial(r.Dir, socket)
	if err != nil {
		return r.failed(socket, "connect to", err)
	}
	info, err := r.ask(ctx, l)
	if err != nil {
		return r.failed(socket, "ask", errors.Join(err, l.conn.Close()))
	}
	r.mu.Lock()
	r.links[socket] = l
	r.mu.Unlock()
	r.Board.Introduced(socket, info, time.Now())
	go func() {
		l.hold()
		r.lost(socket, l)
	}()
	return nil
}

// ask has a plugin say who it is, and the driver behind it what it can do.
func (r *Registry) ask(ctx context.Context, l *link) (node.PluginInfo, error) {
	asking, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	info, err := l.ask(asking)
	if err == nil && info.Type == node.CSIPlugin && r.Meet != nil {
		info.Driver, err = r.Meet(ctx, info)
	}
	return info, err
}

// lost notes that a connection is broken, unless it is no longer the one to its plugin.
func (r *Registry) lost(socket node.PluginSocket, l *link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.links[socket] == l {
		delete(r.links, socket)
		r.closed(socket, l.conn.Close())
		r.Board.Lost(socket, "the connection to the plugin at "+socket.Name+" is broken")
	}
}

// Answer tells a plugin whether it is registered.
func (r *Registry) Answer(ctx context.Context, socket node.PluginSocket, answer node.PluginAnswer) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	r.mu.Lock()
	l := r.links[socket]
	r.mu.Unlock()
	if l == nil {
		return r.failed(socket, "answer", errors.New("it is not connected"))
	}
	if err := l.answer(ctx, answer); err != nil {
		return r.failed(socket, "answer", err)
	}
	r.Board.Answered(socket, answer)
	return nil
}

// Forget ends the connection to a plugin and drops it from the board.
func (r *Registry) Forget(socket node.PluginSocket) {
	r.drop(socket)
	r.Board.Forget(socket)
}

// failed notes why a plugin could not be reached, and returns that as a failure.
func (r *Registry) failed(socket node.PluginSocket, verb string, err error) error {
	err = fmt.Errorf("%s the plugin at %s: %w", verb, socket.Name, err)
	r.Board.Failed(socket, err.Error())
	return &node.Failure{Reason: Failed, Err: err}
}

// drop ends the connection to a plugin, if there is one.
func (r *Registry) drop(socket node.PluginSocket) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.links[socket]; l != nil {
		delete(r.links, socket)
		r.closed(socket, l.conn.Close())
	}
}

// closed logs the error of closing a connection to a plugin. It returns none: only that plugin is concerned.
func (r *Registry) closed(socket node.PluginSocket, err error) {
	if err != nil {
		r.Log.Warn("cannot close the connection to a plugin", "socket", socket.Name, "err", err)
	}
}

// end drops all connections.
func (r *Registry) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for socket, l := range r.links {
		r.closed(socket, l.conn.Close())
	}
	clear(r.links)
}
