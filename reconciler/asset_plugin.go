package reconciler

import (
	"context"
	"fmt"
	"iter"

	"nodal/node"
	"nodal/node/store"
	"nodal/reconciler/decide"
)

// Plugins talks to the plugins in the registry, and writes on their board what comes of it. A definite failure is a
// *node.Failure. Each call may be repeated.
type Plugins interface {
	// Ask connects to a plugin and has it say who it is.
	Ask(ctx context.Context, socket node.PluginSocket) error
	// Answer tells a plugin whether it is registered.
	Answer(ctx context.Context, socket node.PluginSocket, answer node.PluginAnswer) error
	// Forget lets go of a plugin.
	Forget(socket node.PluginSocket)
}

// RegisteredPlugins are the sockets in the plugin registry. The node asks the plugin behind each for its name, answers
// it, and forgets it when the socket is gone. A look reads the board, which knows of broken connections.
func RegisteredPlugins(board *store.Plugins, plugins Plugins) KindOf[node.PluginWish, node.Plugin] {
	return KindOf[node.PluginWish, node.Plugin]{
		Name:   "RegisteredPlugin",
		Boards: []Board{board},
		Wanted: func(iter.Seq[*node.Pod]) []Wanted[node.PluginWish] { return wantedPlugins(board) },
		Plan:   decide.RegisteredPlugin,
		Look: func(_ context.Context, want node.PluginWish) (node.Plugin, error) {
			return board.Plugin(want.Socket), nil
		},
		Do: func(ctx context.Context, action node.Action) error {
			switch action := action.(type) {
			case node.AskPlugin:
				return plugins.Ask(ctx, action.Socket)
			case node.AnswerPlugin:
				return plugins.Answer(ctx, action.Socket, action.Answer)
			case node.ForgetPlugin:
				plugins.Forget(action.Socket)
				return nil
			}
			return fmt.Errorf("%s: plugins have no such action: %w", action, node.ErrUnsupported)
		},
	}
}

// wantedPlugins derives from the sockets in the registry which plugins have to be asked, what each has to hear, and
// which have to be forgotten.
func wantedPlugins(board *store.Plugins) (wanted []Wanted[node.PluginWish]) {
	all := board.List()
	for _, p := range all {
		wish := node.PluginWish{Socket: p.Socket, Gone: p.Gone}
		if p.Connected {
			wish.Answer = decide.PluginAnswer(p, all, board.Check)
		}
		wanted = append(wanted, Wanted[node.PluginWish]{Name: p.Socket.Name + " " + p.Socket.Birth, Want: wish})
	}
	return wanted
}
