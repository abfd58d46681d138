package reconciler_test

import (
	"context"
	"testing"
	"time"

	"nodal/node"
	"nodal/node/store"
	"nodal/reconciler"
)

// willing talks to plugins that answer at once.
type willing struct{ *store.Plugins }

func (w willing) Ask(_ context.Context, socket node.PluginSocket) error {
	w.Introduced(socket, node.PluginInfo{Type: "CSIPlugin", Name: "disk"}, time.Now())
	return nil
}

func (w willing) Answer(_ context.Context, socket node.PluginSocket, answer node.PluginAnswer) error {
	w.Answered(socket, answer)
	return nil
}

func TestTheBoardOfAKindTurnsTheLoop(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		board := store.NewPlugins("CSIPlugin")
		b.stop()
		b.kinds = []reconciler.Kind{reconciler.RegisteredPlugins(board, willing{board})}
		b.start()
		b.rest(time.Second)

		socket := node.PluginSocket{Name: "disk.sock", Birth: "1"}
		board.Found([]node.PluginSocket{socket}, time.Now())
		b.rest(time.Millisecond)
		if got := board.Plugin(socket); got.Answer == nil || !got.Answer.Registered {
			t.Errorf("the plugin is %+v, want it registered", got)
		}
		board.Found(nil, time.Now())
		b.rest(time.Millisecond)
		if left := board.List(); len(left) > 0 {
			t.Errorf("the board shows %+v, want none", left)
		}
	})
}
