package decide

import (
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// Probes returns the probes of a pod that have to run now. A container that runs and is past its postStart hook has its
// startup probe until that succeeds, and from then on the other two.
//
// The liveness probe of a run ends once a probe has condemned the run. A pod that is to end keeps only its readiness
// probes: it may serve until it has ended. A pod with the record of a newer agent keeps the health in that record.
func Probes(site node.Site, slot *node.Slot, got *node.Observed) []node.Probe {
	v := newView(Input{Site: site, Slot: slot, Got: got, Now: slot.Pod.Accepted})
	if v.sandbox == nil || slot.Result != nil || slot.Newer {
		return nil
	}
	var probes []node.Probe
	for c, run := range v.running() {
		if !run.Inspected {
			continue
		}
		for _, kind := range v.asks(c, run) {
			spec := node.ProbeOf(c, kind)
			if spec == nil || spec.Exec == nil && v.address() == "" {
				continue
			}
			probes = append(probes, node.Probe{
				UID: v.pod.UID(), Container: c.Name, ID: run.ID, Kind: kind, Spec: spec, Ports: c.Ports,
				Address: v.address(), HostNetwork: v.spec.HostNetwork, StartedAt: run.StartedAt,
			})
		}
	}
	return probes
}

// asks returns the kinds of probes that a run has now.
func (v *View) asks(c *corev1.Container, run *node.Container) []node.ProbeKind {
	started, failed := v.life.Started(c), v.got.HealthOf(run).Failed
	ends := v.pod.Deletion != nil || v.slot.Termination != nil || v.life.Ending()
	switch {
	case !v.life.Hooked(run, c):
		return nil
	case started && (failed != "" || ends):
		return []node.ProbeKind{node.ReadinessProbe}
	case started:
		return []node.ProbeKind{node.ReadinessProbe, node.LivenessProbe}
	case failed != "" || ends:
		return nil
	}
	return []node.ProbeKind{node.StartupProbe}
}

// address returns the address of the pod for probes, or "" while it is unknown.
func (v *View) address() string {
	var ips []string
	if v.sandbox != nil {
		ips = v.sandbox.IPs
	}
	if v.spec.HostNetwork {
		ips = v.site.HostIPs
	}
	if len(ips) == 0 {
		return ""
	}
	return ips[0]
}
