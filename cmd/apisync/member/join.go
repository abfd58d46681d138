package member

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	nodev1 "nodal/api/gen/node/v1"
)

// place is the Node object of this node.
type place struct {
	config  Config
	cluster *cluster
	node    nodev1.NodeServiceClient
	log     *slog.Logger
	now     func() time.Time

	sent   corev1.NodeStatus
	sentAt time.Time
}

// register makes the Node object, or gives the one that is there this node's labels.
func (p *place) register(ctx context.Context) error {
	info, err := p.node.GetNode(ctx, &nodev1.GetNodeRequest{})
	if err != nil {
		return fmt.Errorf("ask the node what it is: %w", err)
	}
	found, err := p.cluster.node(ctx, p.config.NodeName)
	switch {
	case apierrors.IsNotFound(err) && p.config.Register:
		return p.create(ctx, info)
	case err != nil:
		return fmt.Errorf("read Node %s: %w", p.config.NodeName, err)
	case !p.config.Register:
		return nil
	}
	p.sent = found.Status // transitions are counted from what the cluster has
	missing := map[string]string{}
	for name, value := range p.labels(info) {
		if found.Labels[name] != value {
			missing[name] = value
		}
	}
	if len(missing) == 0 {
		return nil
	}
	change := map[string]any{"metadata": map[string]any{"labels": missing}}
	if err := p.cluster.patchNode(ctx, p.config.NodeName, change); err != nil {
		return fmt.Errorf("label Node %s: %w", p.config.NodeName, err)
	}
	return nil
}

func (p *place) create(ctx context.Context, info *nodev1.GetNodeResponse) error {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: p.config.NodeName, Labels: p.labels(info)},
		Spec:       corev1.NodeSpec{ProviderID: p.config.ProviderID, Taints: p.config.Taints},
		Status:     p.status(info),
	}
	if err := p.cluster.createNode(ctx, n); err != nil {
		return fmt.Errorf("make Node %s: %w", n.Name, err)
	}
	p.log.Info("the node is registered", "node", n.Name)
	return nil
}

func (p *place) labels(info *nodev1.GetNodeResponse) map[string]string {
	labels := maps.Clone(info.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, p.config.Labels)
	return labels
}

// run keeps the status of the Node object true.
func (p *place) run(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, p.config.StatusEvery)
		defer cancel()
		if err := p.update(ctx); err != nil && ctx.Err() == nil {
			p.log.Warn("the node's status is not up to date", "err", err)
		}
	}, p.config.StatusEvery)
}

// update sends the status if it has changed, or has not been sent for long.
func (p *place) update(ctx context.Context) error {
	info, err := p.node.GetNode(ctx, &nodev1.GetNodeRequest{})
	if err != nil {
		return fmt.Errorf("ask the node how it is: %w", err)
	}
	status := p.status(info)
	p.since(&status)
	if sameBut(p.sent, status) && p.now().Sub(p.sentAt) < p.config.StatusAtMost {
		return nil
	}
	err = p.cluster.patchNode(ctx, p.config.NodeName, map[string]any{"status": patchOf(status)}, "status")
	if apierrors.IsNotFound(err) && p.config.Register {
		err = p.create(ctx, info)
	}
	if err != nil {
		return fmt.Errorf("send the status: %w", err)
	}
	p.sent, p.sentAt = status, p.now()
	return nil
}

// patchOf changes a Node object's status and leaves in it what others say. Its
// addresses are replaced whole: merged by their type, two of one type are lost.
func patchOf(status corev1.NodeStatus) any {
	addresses := []any{map[string]string{"$patch": "replace"}}
	for _, a := range status.Addresses {
		addresses = append(addresses, a)
	}
	return struct {
		corev1.NodeStatus
		Addresses []any `json:"addresses"`
	}{status, addresses}
}

// since keeps the time of the last transition where there was none: the node knows no
// more than it has seen since its last start.
func (p *place) since(status *corev1.NodeStatus) {
	for i := range status.Conditions {
		c := &status.Conditions[i]
		before := slices.IndexFunc(p.sent.Conditions, func(b corev1.NodeCondition) bool { return b.Type == c.Type && b.Status == c.Status })
		if before >= 0 {
			c.LastTransitionTime = p.sent.Conditions[before].LastTransitionTime
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

// status is what the node says of itself, in the cluster's words.
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
	status.DaemonEndpoints.KubeletEndpoint.Port = p.config.KubeletPort
	return status
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
