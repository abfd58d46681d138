package member

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	nodev1 "nodal/api/gen/node/v1"
)

// patchOf returns the patch that sets a Node object's status and keeps the fields of other clients. It replaces the
// addresses whole: a merge by type would lose the second one of a type. An empty list of images is sent, but a nil
// one is left out.
func patchOf(status corev1.NodeStatus) any {
	var addresses []any
	if len(status.Addresses) > 0 {
		addresses = []any{map[string]string{"$patch": "replace"}}
	}
	for _, a := range status.Addresses {
		addresses = append(addresses, a)
	}
	return struct {
		corev1.NodeStatus
		Addresses []any                   `json:"addresses,omitzero"`
		Images    []corev1.ContainerImage `json:"images,omitzero"`
	}{status, addresses, status.Images}
}

// keepTransitions keeps the time of the last transition of a condition that has not changed: the node only knows
// times since its last start. A condition that another client changed gets the present time.
func (n *nodeObject) keepTransitions(status *corev1.NodeStatus) {
	for i := range status.Conditions {
		c := &status.Conditions[i]
		at := slices.IndexFunc(n.sent.Conditions, func(b corev1.NodeCondition) bool { return b.Type == c.Type })
		if at < 0 {
			continue
		}
		switch before := n.sent.Conditions[at]; {
		case before.Status == c.Status:
			c.LastTransitionTime = before.LastTransitionTime
		case c.LastTransitionTime.Before(&before.LastTransitionTime):
			c.LastTransitionTime = c.LastHeartbeatTime
		}
	}
}

// sameButTimes reports whether two statuses differ in their heartbeats alone.
func sameButTimes(a, b corev1.NodeStatus) bool {
	timeless := func(s corev1.NodeStatus) corev1.NodeStatus {
		s = *s.DeepCopy()
		for i := range s.Conditions {
			s.Conditions[i].LastHeartbeatTime = metav1.Time{}
		}
		return s
	}
	return equality.Semantic.DeepEqual(timeless(a), timeless(b))
}

// status returns the node's state in Kubernetes' form.
func (n *nodeObject) status(info *nodev1.GetNodeResponse) corev1.NodeStatus {
	status := corev1.NodeStatus{
		Capacity: quantities(info.GetCapacity()), Allocatable: quantities(info.GetAllocatable()),
		Conditions: n.conditions(info.GetConditions()),
		Addresses:  n.addresses(info),
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: info.GetMachineId(), BootID: info.GetBootId(), SystemUUID: info.GetSystemUuid(),
			KernelVersion: info.GetKernelVersion(), OSImage: info.GetOsImage(), OperatingSystem: "linux", Architecture: info.GetArchitecture(),
			KubeletVersion:          cmp.Or(info.GetKubernetesVersion(), info.GetVersion()), // an older node tells only its own
			ContainerRuntimeVersion: info.GetRuntime().GetName() + "://" + comparableVersion(info.GetRuntime().GetVersion()),
		},
	}
	if swap := info.GetSwapBytes(); swap > 0 {
		status.NodeInfo.Swap = &corev1.NodeSwapStatus{Capacity: &swap}
	}
	status.DaemonEndpoints.KubeletEndpoint.Port = n.config.KubeletPort
	status.Images, status.DeclaredFeatures = n.images, declared()
	status.Features = &corev1.NodeFeatures{SupplementalGroupsPolicy: new(info.GetRuntime().GetSupplementalGroupsPolicy())}
	for _, h := range info.GetRuntime().GetHandlers() {
		status.RuntimeHandlers = append(status.RuntimeHandlers, corev1.NodeRuntimeHandler{Name: h.GetName(), Features: &corev1.NodeRuntimeHandlerFeatures{
			RecursiveReadOnlyMounts: new(h.GetRecursiveReadOnlyMounts()), UserNamespaces: new(h.GetUserNamespaces()),
		}})
	}
	return status
}

// comparableVersion returns the part of a runtime's version that can be compared with others, as upstream does: 1.6.20 of
// Debian's 1.6.20~ds1. A version of another form stays as it is.
func comparableVersion(text string) string {
	v, err := version.ParseSemantic(text)
	if err != nil {
		v, err = version.ParseGeneric(text)
	}
	if err != nil {
		return text
	}
	return v.String()
}

// declared returns the node's features that API servers ask for, by Kubernetes' names and sorted. Pods that need a
// feature are kept from nodes that do not declare it.
func declared() []string {
	return []string{
		"ExtendWebSocketsToKubelet", "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers",
		"RestartAllContainersOnContainerExits",
	}
}

// imagesFresh is the time after which images are listed again.
const imagesFresh = 30 * time.Second

// namesOfImage bounds the names that are listed for one image, as upstream does.
const namesOfImage = 5

// lookAtImages lists the largest images. If the node does not answer, the last list stays.
func (n *nodeObject) lookAtImages(ctx context.Context) {
	if n.now().Sub(n.imagesAt) < imagesFresh {
		return
	}
	reply, err := n.imagesOf.ListImages(ctx, &nodev1.ListImagesRequest{})
	if err != nil {
		n.log.Debug("cannot list the node's images", "err", err)
		return
	}
	n.images, n.imagesAt = largest(reply.GetImages(), n.config.MaxImages), n.now()
}

// largest returns so many of the largest images, or all of them if most is below zero. It never returns nil.
func largest(all []*nodev1.Image, most int) []corev1.ContainerImage {
	slices.SortFunc(all, func(a, b *nodev1.Image) int {
		return cmp.Or(cmp.Compare(b.GetSize(), a.GetSize()), cmp.Compare(a.GetId(), b.GetId()))
	})
	if most >= 0 && len(all) > most {
		all = all[:most]
	}
	list := []corev1.ContainerImage{}
	for _, image := range all {
		names := slices.Concat(image.GetDigests(), image.GetReferences())
		list = append(list, corev1.ContainerImage{Names: names[:min(len(names), namesOfImage)], SizeBytes: image.GetSize()})
	}
	return list
}

func (n *nodeObject) conditions(shown []*nodev1.NodeCondition) []corev1.NodeCondition {
	var list []corev1.NodeCondition
	for _, c := range shown {
		list = append(list, corev1.NodeCondition{
			Type: corev1.NodeConditionType(c.GetType()), Status: corev1.ConditionStatus(c.GetStatus()),
			Reason: c.GetReason(), Message: c.GetMessage(),
			LastHeartbeatTime:  metav1.NewTime(n.now().Truncate(time.Second)),
			LastTransitionTime: metav1.NewTime(c.GetTransitionedAt().AsTime().Truncate(time.Second)),
		})
	}
	return list
}

// addresses returns the node's addresses. Those that the node has found itself may not be what a cloud calls its own.
func (n *nodeObject) addresses(info *nodev1.GetNodeResponse) []corev1.NodeAddress {
	var list []corev1.NodeAddress
	own := info.GetAddresses()
	if n.config.ExternalCloud && len(n.config.GivenIPs) == 0 {
		own = nil
	}
	for _, a := range own {
		if ip, err := netip.ParseAddr(a); err == nil {
			list = append(list, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip.String()})
		}
	}
	return append(list, corev1.NodeAddress{Type: corev1.NodeHostName, Address: info.GetName()})
}

func quantities(texts map[string]string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, text := range texts {
		if q, err := resource.ParseQuantity(text); err == nil {
			list[corev1.ResourceName(name)] = q
		}
	}
	return list
}

// reasonOf returns upstream's event reason for the state of a condition; empty if it has none.
func reasonOf(c corev1.NodeCondition) string {
	reasons := map[corev1.NodeConditionType][2]string{
		corev1.NodeReady:          {"NodeReady", "NodeNotReady"},
		corev1.NodeMemoryPressure: {"NodeHasInsufficientMemory", "NodeHasSufficientMemory"},
		corev1.NodeDiskPressure:   {"NodeHasDiskPressure", "NodeHasNoDiskPressure"},
		corev1.NodePIDPressure:    {"NodeHasInsufficientPID", "NodeHasSufficientPID"},
	}[c.Type]
	if c.Status == corev1.ConditionTrue {
		return reasons[0]
	}
	return reasons[1]
}
