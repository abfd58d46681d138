package kube

import (
	"cmp"
	"fmt"
	coordinationv1 "k8s.io/api/coordination/v1"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	runtimev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

// columnsOf returns the columns of a kind that pods use, as kubectl has them on a cluster.
func columnsOf(kind node.ObjectKind) columns {
	if known, ok := kindColumns[kind]; ok {
		return known
	}
	return columns{heads([]string{"Name", "Age"}), func(o *object) []any {
		return []any{o.GetName(), ageOf(o.GetCreationTimestamp())}
	}}
}

var kindColumns = map[node.ObjectKind]columns{
	node.ConfigMap: {
		[]metav1.TableColumnDefinition{column("Name", "string", false), column("Data", "integer", false), column("Age", "string", false)},
		typed(func(c *corev1.ConfigMap) []any {
			return []any{c.Name, len(c.Data) + len(c.BinaryData), ageOf(c.CreationTimestamp)}
		}),
	},
	node.Secret: {
		[]metav1.TableColumnDefinition{
			column("Name", "string", false), column("Type", "string", false), column("Data", "integer", false), column("Age", "string", false),
		},
		typed(func(s *corev1.Secret) []any {
			return []any{s.Name, string(s.Type), len(s.Data), ageOf(s.CreationTimestamp)}
		}),
	},
	node.PersistentVolume: {
		heads([]string{"Name", "Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass", "Age"}, "VolumeMode"),
		typed(func(v *corev1.PersistentVolume) []any {
			claim := ""
			if to := v.Spec.ClaimRef; to != nil {
				claim = to.Namespace + "/" + to.Name
			}
			return []any{
				v.Name, amountOf(v.Spec.Capacity), modesOf(v.Spec.AccessModes), string(v.Spec.PersistentVolumeReclaimPolicy),
				string(v.Status.Phase), claim, v.Spec.StorageClassName, ageOf(v.CreationTimestamp), modeOf(v.Spec.VolumeMode),
			}
		}),
	},
	node.PersistentVolumeClaim: {
		heads([]string{"Name", "Status", "Volume", "Capacity", "Access Modes", "StorageClass", "Age"}, "VolumeMode"),
		typed(func(c *corev1.PersistentVolumeClaim) []any {
			class := ""
			if c.Spec.StorageClassName != nil {
				class = *c.Spec.StorageClassName
			}
			return []any{
				c.Name, string(c.Status.Phase), c.Spec.VolumeName, amountOf(c.Status.Capacity), modesOf(c.Status.AccessModes),
				class, ageOf(c.CreationTimestamp), modeOf(c.Spec.VolumeMode),
			}
		}),
	},
	node.RuntimeClass: {heads([]string{"Name", "Handler", "Age"}), typed(func(c *runtimev1.RuntimeClass) []any {
		return []any{c.Name, c.Handler, ageOf(c.CreationTimestamp)}
	})},
	node.PriorityClass: {
		heads([]string{"Name", "Value", "Global-Default", "Age", "PreemptionPolicy"}),
		typed(func(c *schedulingv1.PriorityClass) []any {
			policy := corev1.PreemptLowerPriority
			if c.PreemptionPolicy != nil {
				policy = *c.PreemptionPolicy
			}
			return []any{c.Name, strconv.Itoa(int(c.Value)), strconv.FormatBool(c.GlobalDefault), ageOf(c.CreationTimestamp), string(policy)}
		}),
	},
	node.NetworkPolicy: {heads([]string{"Name", "Pod-Selector", "Age"}), typed(func(p *networkingv1.NetworkPolicy) []any {
		return []any{p.Name, metav1.FormatLabelSelector(&p.Spec.PodSelector), ageOf(p.CreationTimestamp)}
	})},
	node.Lease: {heads([]string{"Name", "Holder", "Age"}), typed(func(l *coordinationv1.Lease) []any {
		holder := ""
		if l.Spec.HolderIdentity != nil {
			holder = *l.Spec.HolderIdentity
		}
		return []any{l.Name, holder, ageOf(l.CreationTimestamp)}
	})},
	node.ReplicaSet: replicaSetColumns, node.Deployment: deploymentColumns, node.Job: jobColumns,
	node.DaemonSet: daemonSetColumns, node.ControllerRevision: revisionColumns,
	node.StatefulSet: statefulSetColumns, node.CronJob: cronJobColumns,
	node.Service: serviceColumns, node.EndpointSlice: endpointSliceColumns,
}

func amountOf(of corev1.ResourceList) string {
	size, ok := of[corev1.ResourceStorage]
	if !ok {
		return ""
	}
	return size.String()
}

func modeOf(mode *corev1.PersistentVolumeMode) string {
	if mode == nil {
		return "<unset>"
	}
	return string(*mode)
}

var modeNames = map[corev1.PersistentVolumeAccessMode]string{
	corev1.ReadWriteOnce: "RWO", corev1.ReadOnlyMany: "ROX", corev1.ReadWriteMany: "RWX", corev1.ReadWriteOncePod: "RWOP",
}

func modesOf(modes []corev1.PersistentVolumeAccessMode) string {
	var names []string
	for _, mode := range modes {
		names = append(names, cmp.Or(modeNames[mode], string(mode)))
	}
	return strings.Join(names, ",")
}

var namespaceColumns = columns{heads([]string{"Name", "Status", "Age"}), typed(func(n *corev1.Namespace) []any {
	return []any{n.Name, string(n.Status.Phase), ageOf(n.CreationTimestamp)}
})}

var eventColumns = columns{
	heads([]string{"Last Seen", "Type", "Reason", "Object", "Message"}, "Subobject", "Source", "First Seen", "Count", "Name"),
	typed(func(e *corev1.Event) []any {
		about := strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name
		return []any{
			ageOf(e.LastTimestamp), e.Type, e.Reason, about, strings.TrimSpace(e.Message),
			e.InvolvedObject.FieldPath, e.Source.Component, ageOf(e.FirstTimestamp), strconv.Itoa(int(e.Count)), e.Name,
		}
	}),
}

const rolePrefix = "node-role.kubernetes.io/"

var nodeColumns = columns{
	heads([]string{"Name", "Status", "Roles", "Age", "Version"}, "Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
	typed(func(n *corev1.Node) []any {
		state := "Unknown"
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady {
				state = map[corev1.ConditionStatus]string{corev1.ConditionTrue: "Ready"}[c.Status]
				state = cmp.Or(state, "NotReady")
			}
		}
		if n.Spec.Unschedulable {
			state += ",SchedulingDisabled"
		}
		var roles []string
		for _, label := range slices.Sorted(maps.Keys(n.Labels)) {
			if role, ok := strings.CutPrefix(label, rolePrefix); ok && role != "" {
				roles = append(roles, role)
			}
		}
		addresses := map[corev1.NodeAddressType]string{}
		for _, a := range n.Status.Addresses {
			addresses[a.Type] = cmp.Or(addresses[a.Type], a.Address)
		}
		info := n.Status.NodeInfo
		return []any{
			n.Name, state, cmp.Or(strings.Join(roles, ","), "<none>"), ageOf(n.CreationTimestamp), info.KubeletVersion,
			cmp.Or(addresses[corev1.NodeInternalIP], "<none>"), cmp.Or(addresses[corev1.NodeExternalIP], "<none>"),
			cmp.Or(info.OSImage, unknown), cmp.Or(info.KernelVersion, unknown), cmp.Or(info.ContainerRuntimeVersion, unknown),
		}
	}),
}

var podColumns = columns{
	heads([]string{"Name", "Ready", "Status", "Restarts", "Age"}, "IP", "Node", "Nominated Node", "Readiness Gates"),
	typed(func(p *corev1.Pod) []any {
		ready, containers := 0, len(p.Spec.Containers)
		for i := range p.Spec.InitContainers {
			if node.IsSidecar(&p.Spec.InitContainers[i]) {
				containers++
			}
		}
		for _, c := range slices.Concat(sidecars(p), p.Status.ContainerStatuses) {
			if c.Ready && c.State.Running != nil {
				ready++
			}
		}
		return []any{
			p.Name, fmt.Sprintf("%d/%d", ready, containers), standing(p), restartsOf(p), ageOf(p.CreationTimestamp),
			cmp.Or(p.Status.PodIP, "<none>"), cmp.Or(p.Spec.NodeName, "<none>"),
			cmp.Or(p.Status.NominatedNodeName, "<none>"), gatesOf(p),
		}
	}),
}

// sidecars returns the statuses of the init containers that run as long as the pod.
func sidecars(p *corev1.Pod) (found []corev1.ContainerStatus) {
	for i := range p.Spec.InitContainers {
		if !node.IsSidecar(&p.Spec.InitContainers[i]) {
			continue
		}
		for _, c := range p.Status.InitContainerStatuses {
			if c.Name == p.Spec.InitContainers[i].Name {
				found = append(found, c)
			}
		}
	}
	return found
}

// restartsOf counts restarts, and says how long ago the last one was.
func restartsOf(p *corev1.Pod) string {
	count, last := int32(0), metav1.Time{}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		count += c.RestartCount
		if ended := c.LastTerminationState.Terminated; ended != nil && last.Before(&ended.FinishedAt) {
			last = ended.FinishedAt
		}
	}
	if count == 0 || last.IsZero() {
		return strconv.Itoa(int(count))
	}
	return fmt.Sprintf("%d (%s ago)", count, ageOf(last))
}

func gatesOf(p *corev1.Pod) string {
	if len(p.Spec.ReadinessGates) == 0 {
		return "<none>"
	}
	open := 0
	for _, gate := range p.Spec.ReadinessGates {
		for _, c := range p.Status.Conditions {
			if c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue {
				open++
			}
		}
	}
	return fmt.Sprintf("%d/%d", open, len(p.Spec.ReadinessGates))
}
