package reconciler

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// Devices asks the plugins of devices. A plugin may be asked for the same thing again.
type Devices interface {
	// Allocate asks the plugin of a resource what a container needs to have some of its devices.
	Allocate(ctx context.Context, resource corev1.ResourceName, ids []string) (node.Grant, error)
	// PreStart tells the plugin of a resource that a container with some of its devices is about to start.
	PreStart(ctx context.Context, resource corev1.ResourceName, ids []string) error
}

// NoDevices is Kubernetes' reason for a container that waits because it cannot be described to the runtime.
const NoDevices = "CreateContainerConfigError"

// readyDevices has the devices of a container made ready for a run. What plugins answer is recorded before it is used,
// so that the container can start again while they are away. After a crash they are asked again.
func (a Act) readyDevices(ctx context.Context, key node.Key, pod *node.Pod, action node.ReadyDevices) error {
	devices, grant := pod.Shares[action.Container].Devices, pod.Grants[action.Container]
	if grant.Sandbox != action.SandboxID {
		var err error
		if grant, err = a.allocate(ctx, devices); err != nil {
			return noDevices(action, err)
		}
		grant.Sandbox = action.SandboxID
		if err := a.setGrant(key, pod.UID(), action.Container, grant); err != nil {
			return err
		}
	}
	for _, resource := range grant.PreStart {
		if err := a.Devices.PreStart(ctx, resource, devices[resource]); err != nil {
			return noDevices(action, err)
		}
	}
	return nil
}

func noDevices(action node.ReadyDevices, err error) error {
	return &node.Failure{Reason: NoDevices, Err: fmt.Errorf("make the devices of container %s ready: %w", action.Container, err)}
}

// allocate asks the plugin of each resource, and joins what they answer. Of two variables with one name the later one
// counts.
func (a Act) allocate(ctx context.Context, devices map[corev1.ResourceName][]string) (node.Grant, error) {
	var all node.Grant
	for _, resource := range slices.Sorted(maps.Keys(devices)) {
		more, err := a.Devices.Allocate(ctx, resource, devices[resource])
		if err != nil {
			return node.Grant{}, err
		}
		all.Env, all.Annotations = joined(all.Env, more.Env), joined(all.Annotations, more.Annotations)
		all.Mounts, all.Nodes = append(all.Mounts, more.Mounts...), append(all.Nodes, more.Nodes...)
		all.CDI, all.PreStart = append(all.CDI, more.CDI...), append(all.PreStart, more.PreStart...)
	}
	return all, nil
}

func joined(one, other map[string]string) map[string]string {
	if len(one) == 0 {
		return other
	}
	both := maps.Clone(one)
	maps.Copy(both, other)
	return both
}

func (a Act) setGrant(key node.Key, uid types.UID, container string, grant node.Grant) error {
	return a.Store.Update(key, uid, func(tx *store.Tx, slot *node.Slot) {
		pod := *slot.Pod
		pod.Grants = maps.Clone(pod.Grants)
		if pod.Grants == nil {
			pod.Grants = node.Grants{}
		}
		pod.Grants[container] = grant
		slot.Pod = &pod
		tx.Put(key, slot)
	})
}
