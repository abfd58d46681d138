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

	nodev1 "nodal/api/gen/node/v1"
)

// patchOf changes a Node object's status and leaves in it what others say. Its
// addresses are replaced whole: merged by their type, two of one type are lost. That
// there are no images to name is said too, unlike images that are not known.
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

// since keeps the time of the last transition where nothing changed: the node only knows
// what it has seen since its last start. A condition that another client changed gets the
// present time.
func (p *place) since(status *corev1.NodeStatus) {
	for i := range status.Conditions {
		c := &status.Conditions[i]
		at := slices.IndexFunc(p.sent.Conditions, func(b corev1.NodeCondition) bool { return b.Type == c.Type })
		if at < 0 {
			continue
		}
		switch before := p.sent.Conditions[at]; {
		case before.Status == c.Status:
			c.LastTransitionTime = before.LastTransitionTime
		case c.LastTransitionTime.Before(&before.LastTransitionTime):
			c.LastTransitionTime = c.LastHeartbeatTime
		}
	}
}

// sameBut compares two statuses but for when they were made.
func sameBut(a, b corev1.NodeStatus) bool {
	timeless := func(s corev1.NodeStatus) corev1.NodeStatus {
		s = *s.DeepCopy()
		for i := range s.Conditions {
			s.Conditions[i].LastHeartbeatTime = metav1.Time{}
		}
		return s
	}
	return equality.Semantic.DeepEqual(timeless(a), timeless(b))
}

// status converts the node's description of itself into Kubernetes' form.
func (p *place) status(info *nodev1.GetNodeResponse) corev1.NodeStatus {
	status := corev1.NodeStatus{
		Capacity: quantities(info.GetCapacity()), Allocatable: quantities(info.GetAllocatable()),
		Conditions: p.conditions(info.GetConditions()),
		Addresses:  addresses(info),
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: info.GetMachineId(), BootID: info.GetBootId(), SystemUUID: info.GetSystemUuid(),
			KernelVersion: info.GetKernelVersion(), OSImage: info.GetOsImage(), OperatingSystem: "linux", Architecture: info.GetArchitecture(),
			KubeletVersion:          info.GetVersion(),
			ContainerRuntimeVersion: info.GetRuntime().GetName() + "://" + info.GetRuntime().GetVersion(),
		},
	}
	if swap := info.GetSwapBytes(); swap > 0 {
		status.NodeInfo.Swap = &corev1.NodeSwapStatus{Capacity: &swap}
	}
	status.DaemonEndpoints.KubeletEndpoint.Port = p.config.KubeletPort
	status.Images, status.DeclaredFeatures = p.images, declared()
	status.Features = &corev1.NodeFeatures{SupplementalGroupsPolicy: new(info.GetRuntime().GetSupplementalGroupsPolicy())}
	for _, h := range info.GetRuntime().GetHandlers() {
		status.RuntimeHandlers = append(status.RuntimeHandlers, corev1.NodeRuntimeHandler{Name: h.GetName(), Features: &corev1.NodeRuntimeHandlerFeatures{
			RecursiveReadOnlyMounts: new(h.GetRecursiveReadOnlyMounts()), UserNamespaces: new(h.GetUserNamespaces()),
		}})
	}
	return status
}

// declared are the features, by Kubernetes' names and in their order, without which an
// API server keeps pods that need them from a node.
func declared() []string {
	return []string{"InPlacePodLevelResourcesVerticalScaling", "RestartAllContainersOnContainerExits"}
}

// imagesFresh is for how long images are not listed again.
const imagesFresh = 30 * time.Second

// namesOfImage bounds the names that are listed of one image, as upstream does.
const namesOfImage = 5

// lookAtImages lists the largest images. It keeps the last list while the node cannot
// answer.
func (p *place) lookAtImages(ctx context.Context) {
	if p.now().Sub(p.imagesAt) < imagesFresh {
		return
	}
	reply, err := p.imagesOf.ListImages(ctx, &nodev1.ListImagesRequest{})
	if err != nil {
		p.log.Debug("cannot list the node's images", "err", err)
		return
	}
	p.images, p.imagesAt = largest(reply.GetImages(), p.config.MaxImages), p.now()
}

// largest are so many images, or all if most is below zero; never nil.
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

func (p *place) conditions(told []*nodev1.NodeCondition) []corev1.NodeCondition {
	var list []corev1.NodeCondition
	for _, c := range told {
		list = append(list, corev1.NodeCondition{
			Type: corev1.NodeConditionType(c.GetType()), Status: corev1.ConditionStatus(c.GetStatus()),
			Reason: c.GetReason(), Message: c.GetMessage(),
			LastHeartbeatTime:  metav1.NewTime(p.now().Truncate(time.Second)),
			LastTransitionTime: metav1.NewTime(c.GetTransitionedAt().AsTime().Truncate(time.Second)),
		})
	}
	return list
}

func addresses(info *nodev1.GetNodeResponse) []corev1.NodeAddress {
	var list []corev1.NodeAddress
	for _, a := range info.GetAddresses() {
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

// turned returns upstream's event reason for the new state of a condition.
func turned(c corev1.NodeCondition) string {
	words := map[corev1.NodeConditionType][2]string{
		corev1.NodeReady:          {"NodeReady", "NodeNotReady"},
		corev1.NodeMemoryPressure: {"NodeHasInsufficientMemory", "NodeHasSufficientMemory"},
		corev1.NodeDiskPressure:   {"NodeHasDiskPressure", "NodeHasNoDiskPressure"},
		corev1.NodePIDPressure:    {"NodeHasInsufficientPID", "NodeHasSufficientPID"},
	}[c.Type]
	if c.Status == corev1.ConditionTrue {
		return words[0]
	}
	return words[1]
}
