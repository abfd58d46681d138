package runtime

import (
	"context"
	"fmt"
	"net/netip"
	"os"
)

// keepNetwork lays down again what a reload of the machine's firewall or of its
// sysctls has taken from the pods' way out, opens their host ports again, and tells it.
func (r *Runtime) keepNetwork(ctx context.Context) {
	lost, err := r.layout.lostNetwork(r.network.Subnets)
	if err != nil {
		r.config.Log.Warn("cannot look for the pods' nftables rules", "err", err)
		return
	}
	if !r.owns() {
		return
	}
	if lost != "" {
		r.repairNetwork(lost)
	}
	r.keepPorts(ctx)
}

func (r *Runtime) repairNetwork(lost string) {
	r.ports.doubt()
	if !r.opensPorts() {
		lost += " (host ports of running pods may be closed until those pods are made anew);"
	}
	event := Event{Reason: NetworkRepaired, Warning: true, Message: "pods were cut off from the world: somebody took away" + lost + " it is laid down again"}
	if err := r.layout.setUpNetwork(r.network.Subnets); err != nil {
		event.Reason, event.Message = NetworkLost, "pods are cut off from the world: somebody took away"+lost+" "+err.Error()
	}
	r.tell(event)
}

// opensPorts says that the plugin is the bundle's. Of those that hosts have some take open
// ports for closed where pods have an address of version 6, too.
func (r *Runtime) opensPorts() bool { return len(r.config.Index) > 0 }

// keepPorts opens the host ports of pods that somebody may have closed.
func (r *Runtime) keepPorts(ctx context.Context) {
	if !r.opensPorts() {
		return
	}
	opened, err := r.ports.look(ctx, r.layout, cniCache)
	if opened > 0 {
		r.tell(Event{Reason: NetworkRepaired, Warning: true, Message: fmt.Sprintf("host ports of pods were closed: they are open again (pods: %d)", opened)})
	}
	if err != nil {
		r.tell(Event{Reason: NetworkLost, Warning: true, Message: "host ports of pods may be closed until those pods are made anew: " + err.Error()})
	}
}

// lostNetwork names what setUpNetwork has laid down and is not there, each between a
// space and a semicolon. A setting that the kernel does not have is not lost.
func (l layout) lostNetwork(subnets []netip.Prefix) (lost string, err error) {
	rules, err := masquerading(l.nftable())
	if err != nil {
		return "", err
	}
	if rules < 2*len(subnets) {
		lost = " nftables table " + l.nftable() + ";"
	}
	for _, s := range subnets { // one for each family
		name := forwarding4
		if s.Addr().Is6() {
			name = forwarding6
		}
		if sysctl(name) == "0" {
			lost += " sysctl net/" + name + ";"
		}
	}
	return lost, nil
}

// owns reports whether the lock is still ours: once somebody has removed the
// directory, the node may be another agent's, or may be being cleaned.
func (r *Runtime) owns() bool {
	held, err := r.lock.Stat()
	if err != nil {
		return false // it was given back
	}
	named, err := os.Stat(r.layout.lock())
	return err == nil && os.SameFile(held, named)
}
