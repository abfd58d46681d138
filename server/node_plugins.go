package server

import (
	"cmp"
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// ListPlugins shows the plugins whose sockets are there.
func (s *nodeService) ListPlugins(context.Context, *nodev1.ListPluginsRequest) (*nodev1.ListPluginsResponse, error) {
	answer := &nodev1.ListPluginsResponse{}
	if s.plugins == nil {
		return answer, nil
	}
	for _, p := range s.plugins.List() {
		if !p.Gone {
			answer.Plugins = append(answer.Plugins, pluginOf(p))
		}
	}
	return answer, nil
}

func pluginOf(p node.Plugin) *nodev1.Plugin {
	shown := &nodev1.Plugin{
		Socket: p.Socket.Name, Type: p.Info.Type, Name: p.Info.Name, Endpoint: p.Info.Endpoint, Versions: p.Info.Versions,
		Connected: p.Connected, Message: p.Fault, FoundAt: timestamppb.New(p.Found),
	}
	if p.Answer != nil {
		shown.Registered = p.Answer.Registered
		shown.Message = cmp.Or(p.Fault, p.Answer.Reason)
	}
	return shown
}
