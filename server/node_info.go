package server

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/node/capability"
	"nodal/node/health"
	"nodal/node/status"
	"nodal/node/store"
)

// nodeService describes the node itself. Its watch is in node_watch.go.
type nodeService struct {
	nodev1.UnimplementedNodeServiceServer
	store      *store.Store
	sources    *store.Sources
	plugins    *store.Plugins
	devices    *store.Devices
	offers     Offers
	site       node.Site
	facts      Facts
	config     Configuration
	vitals     Vitals
	csiVolumes func() []node.CSIVolume
	garbage    Garbage
	key        SecretsKey
	subnets    Subnets
	ranking    Ranking
	shutdown   Shutdown
	cordon     Cordon
	verbosity  Verbosity
	fixed      bool // enableDebugFlagsHandler is off
	stopped    <-chan struct{}
}

var _ nodev1.NodeServiceServer = (*nodeService)(nil)

// GetNode describes this node and its present state.
func (s *nodeService) GetNode(ctx context.Context, _ *nodev1.GetNodeRequest) (*nodev1.GetNodeResponse, error) {
	return s.describe(ctx), nil
}

func (s *nodeService) describe(ctx context.Context) *nodev1.GetNodeResponse {
	views, revision := s.store.Views()
	answer := &nodev1.GetNodeResponse{
		Name: s.site.NodeName, Version: s.facts.Version, KubernetesVersion: node.KubernetesVersion, StartedAt: timestamppb.New(s.facts.Started),
		Revision: revision, Addresses: s.facts.Addresses, KernelVersion: s.facts.KernelVersion,
		OsImage: s.facts.OSImage, Architecture: s.facts.Architecture, Pods: s.count(views),
	}
	offered, configured := s.offers.Read(), s.config.Read()
	answer.Capacity, answer.Allocatable, answer.Labels = quantities(offered.Capacity), quantities(offered.Allocatable), offered.Labels
	for _, t := range offered.Taints {
		answer.Taints = append(answer.Taints, &nodev1.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
	}
	answer.SwapBytes, answer.Warnings = offered.Swap.Total, warnings(configured.Warnings)
	answer.MachineId, answer.BootId, answer.SystemUuid = s.facts.MachineID, s.facts.BootID, s.facts.SystemUUID
	answer.SecretsKey = showKey(s.key.State())
	used, waiting := s.subnets.Read()
	answer.PodCidrs, answer.WaitingPodCidrs = texts(used), texts(waiting)
	delivered := map[node.Source]int32{}
	for _, v := range views {
		delivered[v.Slot.Pod.Source]++
	}
	for _, state := range s.sources.List() {
		answer.Sources = append(answer.Sources, sourceOf(state, delivered[state.Source]))
	}
	answer.Shutdown, answer.Configuration = showShutdown(s.shutdown.State()), showConfigured(configured)
	answer.Cordon = showCordon(s.cordon.State())
	r, conditions := s.vitals.Look(ctx)
	answer.Warnings = append(answer.Warnings, beyond(s.vitals.Beyond())...)
	answer.Runtime = &nodev1.Runtime{
		Endpoint: s.facts.Endpoint, Name: r.Name, Version: r.Version,
		Ready: r.Ready, NetworkReady: r.NetworkReady, Message: r.Message, Events: r.Events,
		SupplementalGroupsPolicy: r.Features.SupplementalGroupsPolicy,
	}
	for _, c := range conditions {
		answer.Conditions = append(answer.Conditions, &nodev1.NodeCondition{
			Type: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message,
			TransitionedAt: timestamppb.New(c.LastTransitionTime.Time),
		})
	}
	for _, h := range r.Handlers {
		answer.Runtime.Handlers = append(answer.Runtime.Handlers, &nodev1.RuntimeHandler{
			Name: h.Name, UserNamespaces: h.UserNamespaces, RecursiveReadOnlyMounts: h.RecursiveReadOnlyMounts,
		})
	}
	return answer
}

// showShutdown returns nil while the machine stays up.
func showShutdown(of node.Shutdown) *nodev1.Shutdown {
	if of.Began.IsZero() {
		return nil
	}
	shown := &nodev1.Shutdown{BeganAt: timestamppb.New(of.Began), Cause: of.Cause, Priority: of.Priority, Done: of.Done}
	if !of.Done && !of.Until.IsZero() {
		shown.PhaseEndsAt = timestamppb.New(of.Until)
	}
	for _, key := range of.Waits {
		shown.Waiting = append(shown.Waiting, &nodev1.ShutdownPod{Namespace: key.Namespace, Name: key.Name})
	}
	return shown
}

func warnings(of []Warning) (all []*nodev1.SettingWarning) {
	for _, w := range of {
		all = append(all, &nodev1.SettingWarning{Setting: w.Setting, Message: w.Problem, Remedy: w.Remedy})
	}
	return all
}

// beyond warns of thresholds that can never hold. Those of the file system of containers follow from others.
func beyond(of []health.Beyond) (all []*nodev1.SettingWarning) {
	for _, b := range of {
		if !health.OfContainerFs(b.Signal) {
			all = append(all, &nodev1.SettingWarning{Setting: b.Setting(), Message: b.Problem(), Remedy: b.Remedy()})
		}
	}
	return all
}

func texts(subnets []netip.Prefix) (all []string) {
	for _, s := range subnets {
		all = append(all, s.String())
	}
	return all
}

func quantities(list corev1.ResourceList) map[string]string {
	texts := map[string]string{}
	for name, q := range list {
		texts[string(name)] = q.String()
	}
	return texts
}

func (s *nodeService) count(views []store.View) *nodev1.PodCounts {
	n := &nodev1.PodCounts{Total: int32(len(views))}
	for _, v := range views {
		pod := status.Of(s.site, v.Slot, v.Got)
		if pod.Phase == corev1.PodRunning {
			n.Running++
		}
		if node.IsReady(&pod) {
			n.Ready++
		}
		if v.Slot.Pod.Deletion != nil {
			n.Terminating++
		}
	}
	return n
}

func sourceOf(state store.SourceState, pods int32) *nodev1.Source {
	source := &nodev1.Source{Name: string(state.Source), Location: state.Location, Ready: !state.Delivered.IsZero(),
		Pods: pods}
	if source.Ready {
		source.DeliveredAt = timestamppb.New(state.Delivered)
	}
	for _, origin := range slices.Sorted(maps.Keys(state.Errors)) {
		e := state.Errors[origin]
		source.Errors = append(source.Errors, &nodev1.SourceError{
			Origin: cmp.Or(e.Origin, origin), Message: e.Message, Time: timestamppb.New(e.Time),
		})
	}
	return source
}

// ListCapabilities returns whether each field of a pod is honoured, ignored or refused.
func (s *nodeService) ListCapabilities(
	context.Context, *nodev1.ListCapabilitiesRequest,
) (*nodev1.ListCapabilitiesResponse, error) {
	answer := &nodev1.ListCapabilitiesResponse{}
	for _, entry := range capability.Table() {
		answer.Capabilities = append(answer.Capabilities, &nodev1.Capability{
			Field: entry.Field, Support: supportOf(entry.Support), Note: entry.Note,
		})
	}
	return answer, nil
}

func supportOf(s capability.Support) nodev1.Support {
	switch s {
	case capability.Honoured:
		return nodev1.Support_SUPPORT_HONOURED
	case capability.WithoutEffect:
		return nodev1.Support_SUPPORT_WITHOUT_EFFECT
	case capability.Refused:
		return nodev1.Support_SUPPORT_REFUSED
	}
	return nodev1.Support_SUPPORT_UNSPECIFIED
}
