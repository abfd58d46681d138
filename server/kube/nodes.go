package kube

import (
	"context"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	nodev1 "nodal/api/gen/node/v1"
)

// nodes is this node alone.
type nodes struct{ clients }

var _ source = nodes{}

func (n nodes) get(ctx context.Context, _, name string) (*object, error) {
	answer, err := n.node.GetNode(ctx, &nodev1.GetNodeRequest{})
	if err == nil && answer.GetName() != name {
		err = notFound("node", name)
	}
	if err != nil {
		return nil, err
	}
	return shownNode(answer)
}

func (n nodes) list(ctx context.Context, of selection) (all []*object, revision int64, err error) {
	byLabel, byField, err := selectors(of)
	if err != nil {
		return nil, 0, err
	}
	answer, err := n.node.GetNode(ctx, &nodev1.GetNodeRequest{})
	if err != nil {
		return nil, 0, err
	}
	if byLabel.Matches(labels.Set(answer.GetLabels())) && byField.Matches(fields.Set{"metadata.name": answer.GetName()}) {
		this, err := shownNode(answer)
		if err != nil {
			return nil, 0, err
		}
		all = append(all, this)
	}
	return all, answer.GetRevision(), nil
}

func (nodes) remove(_ context.Context, _, name string, _ deletion) (*object, error) {
	return nil, unchangeable("Node", name)
}

func shownNode(of *nodev1.GetNodeResponse) (*object, error) {
	made := corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: of.GetName(), Labels: of.GetLabels(), ResourceVersion: versionOf(of.GetRevision())},
		Spec:       corev1.NodeSpec{PodCIDRs: of.GetPodCidrs()},
		Status: corev1.NodeStatus{
			Capacity: amounts(of.GetCapacity()), Allocatable: amounts(of.GetAllocatable()),
			NodeInfo: corev1.NodeSystemInfo{
				MachineID: of.GetMachineId(), BootID: of.GetBootId(), SystemUUID: of.GetSystemUuid(),
				KernelVersion: of.GetKernelVersion(), OSImage: of.GetOsImage(), Architecture: of.GetArchitecture(),
				OperatingSystem: "linux", KubeletVersion: of.GetKubernetesVersion(),
				ContainerRuntimeVersion: of.GetRuntime().GetName() + "://" + of.GetRuntime().GetVersion(),
			},
		},
	}
	for _, t := range of.GetTaints() {
		made.Spec.Taints = append(made.Spec.Taints, corev1.Taint{Key: t.GetKey(), Value: t.GetValue(), Effect: corev1.TaintEffect(t.GetEffect())})
	}
	if c := of.GetCordon(); c != nil {
		made.Spec.Unschedulable = true
		since := metav1.NewTime(c.GetSinceAt().AsTime())
		made.Spec.Taints = append(made.Spec.Taints, corev1.Taint{
			Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &since,
		})
	}
	if len(made.Spec.PodCIDRs) > 0 {
		made.Spec.PodCIDR = made.Spec.PodCIDRs[0]
	}
	for _, address := range of.GetAddresses() {
		kind := corev1.NodeHostName
		if _, err := netip.ParseAddr(address); err == nil {
			kind = corev1.NodeInternalIP
		}
		made.Status.Addresses = append(made.Status.Addresses, corev1.NodeAddress{Type: kind, Address: address})
	}
	for _, c := range of.GetConditions() {
		made.Status.Conditions = append(made.Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeConditionType(c.GetType()), Status: corev1.ConditionStatus(c.GetStatus()),
			Reason: c.GetReason(), Message: c.GetMessage(), LastTransitionTime: metav1.NewTime(c.GetTransitionedAt().AsTime()),
		})
	}
	return untyped(&made)
}

func amounts(of map[string]string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, text := range of {
		if amount, err := quantity.ParseQuantity(text); err == nil {
			list[corev1.ResourceName(name)] = amount
		}
	}
	return list
}
