package server

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// ListPlugins shows the plugins whose sockets are there, the resources of device plugins and the volumes of CSI drivers.
func (s *nodeService) ListPlugins(context.Context, *nodev1.ListPluginsRequest) (*nodev1.ListPluginsResponse, error) {
	answer := &nodev1.ListPluginsResponse{Devices: s.deviceResources()}
	if s.csiVolumes != nil {
		for _, v := range s.csiVolumes() {
			answer.CsiVolumes = append(answer.CsiVolumes, &nodev1.CSIVolume{Driver: v.Driver, Handle: v.Handle})
		}
	}
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

// deviceResources shows the resources of device plugins, and how many of their devices pods have.
func (s *nodeService) deviceResources() (all []*nodev1.DeviceResource) {
	if s.devices == nil {
		return nil
	}
	assigned := map[corev1.ResourceName]map[string]bool{}
	views, _ := s.store.Views()
	for _, v := range views {
		for _, shares := range v.Slot.Shares() {
			for _, share := range shares {
				for name, ids := range share.Devices {
					if assigned[name] == nil {
						assigned[name] = map[string]bool{}
					}
					for _, id := range ids {
						assigned[name][id] = true
					}
				}
			}
		}
	}
	for _, r := range s.devices.List() {
		devices := r.Offered(time.Now())
		shown := &nodev1.DeviceResource{
			Name: string(r.Name), Socket: r.Plugin, Connected: r.Lost.IsZero(), Message: r.Fault,
			Capacity: uint32(len(devices)), Healthy: uint32(node.Healthy(devices)), Assigned: uint32(len(assigned[r.Name])),
			CdiKind: r.CDI.Kind, Shares: uint32(r.CDI.Shares),
		}
		if !r.Lost.IsZero() {
			shown.LostAt = timestamppb.New(r.Lost)
		}
		all = append(all, shown)
	}
	return all
}

func pluginOf(p node.Plugin) *nodev1.Plugin {
	shown := &nodev1.Plugin{
		Socket: p.Socket.Name, Type: p.Info.Type, Name: p.Info.Name, Endpoint: p.Info.Endpoint, Versions: p.Info.Versions,
		Connected: p.Connected, Message: p.Fault, FoundAt: timestamppb.New(p.Found),
	}
	if d := p.Info.Driver; d != nil {
		shown.Csi = &nodev1.CSIDriver{
			Version: d.Version, NodeId: d.Node, MaxVolumes: d.MostVolumes, Topology: d.Topology, Capabilities: d.Capabilities,
		}
	}
	if p.Answer != nil {
		shown.Registered = p.Answer.Registered
		shown.Message = cmp.Or(p.Fault, p.Answer.Reason)
	}
	return shown
}
