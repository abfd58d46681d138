package reconciler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/assign"
	"nodal/node/store"
)

// Devices asks the plugins of devices. A plugin may be asked for the same thing again.
type Devices interface {
	// Prefers reports whether the plugin of a resource wants to choose devices itself.
	Prefers(resource corev1.ResourceName) bool
	// Prefer asks it which ones a container shall have. The answer may be anything.
	Prefer(ctx context.Context, choice assign.Choice) (wish []string, err error)
	// Allocate asks the plugin of a resource what a container needs to have some of its devices.
	Allocate(ctx context.Context, resource corev1.ResourceName, ids []string) (node.Grant, error)
	// PreStart tells the plugin of a resource that a container with some of its devices is about to start.
	PreStart(ctx context.Context, resource corev1.ResourceName, ids []string) error
}

// NoDevices is Kubernetes' reason for a container that waits because it cannot be described to the runtime.
const NoDevices = "CreateContainerConfigError"

// exchanges bounds how often a container's devices are exchanged for those of another while its plugin answers for the
// former ones. Each other container of the pod does that once.
const exchanges = 5

// readyDevices has the devices of a container made ready for a run. What plugins answer is recorded before it is used,
// so that the container can start again while they are away. After a crash they are asked again.
func (a Act) readyDevices(ctx context.Context, key node.Key, pod *node.Pod, action node.ReadyDevices) error {
	grant := pod.Grants[action.Container]
	if grant.Sandbox != action.SandboxID {
		var err error
		if pod, err = a.grant(ctx, key, pod, action); err != nil {
			return err
		}
		grant = pod.Grants[action.Container]
	}
	for _, resource := range grant.PreStart {
		if err := a.Devices.PreStart(ctx, resource, pod.Shares[action.Container].Devices[resource]); err != nil {
			return noDevices(action, err)
		}
	}
	return nil
}

// grant has plugins grant a container its devices, and returns the pod with that in its record. Before the first time,
// the plugins may choose the devices themselves.
func (a Act) grant(ctx context.Context, key node.Key, pod *node.Pod, action node.ReadyDevices) (*node.Pod, error) {
	if _, settled := pod.Grants[action.Container]; !settled {
		for _, resource := range slices.Sorted(maps.Keys(pod.Shares[action.Container].Devices)) {
			if err := a.prefer(ctx, key, pod.UID(), action.Container, resource); err != nil {
				return nil, err
			}
		}
	}
	for range exchanges {
		slot := a.slotOf(key, pod.UID())
		if slot == nil {
			return nil, fmt.Errorf("pod %s with uid %s: %w", key, pod.UID(), node.ErrNotFound)
		}
		devices := slot.Pod.Shares[action.Container].Devices
		grant, err := a.allocate(ctx, devices)
		if err != nil {
			return nil, noDevices(action, err)
		}
		grant.Sandbox = action.SandboxID
		granted, err := a.setGrant(key, pod.UID(), action.Container, devices, grant)
		if granted != nil || err != nil {
			return granted, err
		}
	}
	return nil, noDevices(action, errors.New("they were exchanged while their plugin answered"))
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

// setGrant records what plugins have granted for some devices of a container, and returns the pod then. It returns nil
// if the container has other devices by now.
func (a Act) setGrant(
	key node.Key, uid types.UID, container string, devices map[corev1.ResourceName][]string, grant node.Grant,
) (granted *node.Pod, err error) {
	err = a.Store.Update(key, uid, func(tx *store.Tx, slot *node.Slot) {
		if !maps.EqualFunc(slot.Pod.Shares[container].Devices, devices, slices.Equal) {
			return
		}
		pod := *slot.Pod
		pod.Grants = maps.Clone(pod.Grants)
		if pod.Grants == nil {
			pod.Grants = node.Grants{}
		}
		pod.Grants[container] = grant
		slot.Pod, granted = &pod, &pod
		tx.Put(key, slot)
	})
	return granted, err
}
