package script

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/limit"
	"nodal/reconciler"
)

// others stands for the parts of a node beside its runtime. It obeys and keeps nothing.
type others struct{ stage *stage }

var (
	_ reconciler.Hooks   = others{}
	_ reconciler.Logs    = others{}
	_ reconciler.Volumes = others{}
	_ reconciler.Cgroups = cgroups{}
)

// Run runs a hook, which succeeds.
func (others) Run(context.Context, node.Key, node.RunHook) error { return nil }

// Link and Unlink do nothing: no log collector reads a script's logs.
func (others) Link(node.Key, *node.Container)  {}
func (others) Unlink(node.Key, string, string) {}

// RemovePod and RemoveRun do nothing: no log was written.
func (others) RemovePod(node.Key, types.UID) error                 { return nil }
func (others) RemoveRun(node.Key, types.UID, string, uint32) error { return nil }

// SetUp lays out an empty volume, if its objects exist.
func (o others) SetUp(_ context.Context, pod *node.Pod, name string) error {
	for volume := range node.MountedVolumes(&pod.Object.Spec) {
		for _, ref := range node.VolumeRefs(pod.Object, volume) {
			if _, ok := o.stage.store.Object(ref); !ok && volume.Name == name {
				return &node.Failure{Reason: node.FailedMount, Err: fmt.Errorf("%s: %w", ref, node.ErrNotFound)}
			}
		}
	}
	return nil
}

// TearDown and Sweep do nothing: volumes are empty, and no log was written.
func (others) TearDown(context.Context, types.UID) error         { return nil }
func (others) Sweep(context.Context, func(types.UID) bool) error { return nil }

// Garbage finds none.
func (others) Garbage(context.Context, func(types.UID) bool) ([]node.Garbage, error) { return nil, nil }

// cgroups accepts every call.
type cgroups struct{}

func (cgroups) SetUp(context.Context, *corev1.Pod, limit.Limits) error { return nil }
func (cgroups) TearDown(context.Context, types.UID) error              { return nil }
func (cgroups) Sweep(context.Context, func(types.UID) bool) error      { return nil }
func (cgroups) Garbage(context.Context, func(types.UID) bool) ([]node.Garbage, error) {
	return nil, nil
}
