package decide

import (
	"fmt"
	"time"

	"nodal/node"
)

// pluginRest is the pause before a plugin that has gone away is asked again. One that comes and goes without a pause
// would keep the node busy.
const pluginRest = 10 * time.Second

// RegisteredPlugin asks a plugin who it is, and tells it whether it is registered.
func RegisteredPlugin(in Asset[node.PluginWish, node.Plugin]) (p Plan) {
	want, got := in.Want, in.Look
	again := got.Said.Add(pluginRest)
	switch {
	case want.Gone:
		in.try(&p, node.ForgetPlugin{Socket: want.Socket})
	case !got.Connected && !got.Said.IsZero() && in.Now.Before(again):
		p.wait(again, "waiting before the plugin is asked again")
	case !got.Connected:
		in.try(&p, node.AskPlugin{Socket: want.Socket})
	case want.Answer != node.PluginAnswer{} && (got.Answer == nil || *got.Answer != want.Answer):
		in.try(&p, node.AnswerPlugin{Socket: want.Socket, Answer: want.Answer})
	}
	return p
}

// PluginAnswer decides what a plugin has to hear, among all that are known. The first of two with one name has it as
// long as its connection stands.
func PluginAnswer(p node.Plugin, all []node.Plugin, check func(node.PluginInfo) error) node.PluginAnswer {
	for _, o := range all {
		same := o.Info.Type == p.Info.Type && o.Info.Name == p.Info.Name
		if same && o.Connected && !o.Gone && o.Turn < p.Turn {
			return node.PluginAnswer{Reason: fmt.Sprintf("plugin %q of type %q is there already, at %s", p.Info.Name, p.Info.Type, o.Socket.Name)}
		}
	}
	if err := check(p.Info); err != nil {
		return node.PluginAnswer{Reason: err.Error()}
	}
	return node.PluginAnswer{Registered: true}
}
