package cgroups

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"nodal/agent/config"
	"nodal/host/cgroup"
	"nodal/node/admit"
	"nodal/node/limit"
)

// HoldReserved limits the node's own programs and the machine's other programs to the resources reserved for them.
func HoldReserved(ctx context.Context, c *config.Config, mounts cgroup.Mounts) error {
	r := c.Reserved
	for _, group := range []struct {
		config.Held
		setting string
		list    corev1.ResourceList
	}{{r.HoldKube, "kubeReservedCgroup", r.Kube}, {r.HoldSystem, "systemReservedCgroup", r.System}} {
		if !group.CPU {
			continue
		}
		var l limit.Limits
		if cpu, ok := group.list[corev1.ResourceCPU]; ok {
			l.CPUShares = limit.CPUShares(cpu.MilliValue())
		}
		if pids := group.list[admit.PIDs]; group.Rest {
			l.Memory, l.Pids = group.list.Memory().Value(), pids.Value()
			if c.Cgroups.MemoryQoS {
				l.MemoryMin = l.Memory
			}
		}
		if err := mounts.Hold(ctx, group.Cgroup, l); err != nil {
			return fmt.Errorf("%s: %w", group.setting, err)
		}
	}
	return nil
}
