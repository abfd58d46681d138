package podnet

import (
	"context"
	"fmt"
	"time"

	"nodal/host/podnet/nft"
	"nodal/node"
)

// Reasons of events.
const (
	Repaired = "NetworkRepaired" // something that others took away is back
	Lost     = "NetworkLost"     // it could not be brought back
)

// Keep lays down again what a reload of the machine's firewall or of its sysctls has taken from the pods' way out. It
// removes rules of host ports that lead to pods that are gone, and opens closed ports of running pods again. Now and then
// it gives back the addresses of pods that are gone. It returns the events to report. It changes nothing unless ours
// confirms, after the look, that the node still belongs to this process: another process may be cleaning it.
func (n *Network) Keep(ctx context.Context, ours func() bool, sandboxes Sandboxes) ([]node.Event, error) {
	lost, err := n.lost()
	if err != nil {
		return nil, fmt.Errorf("look for the pods' nftables rules: %w", err)
	}
	unguarded, unserved := n.lostGuard(), n.lostServices()
	if !ours() {
		return nil, nil
	}
	var events []node.Event
	if unguarded {
		lost += n.renewGuard()
	}
	if unserved {
		name, err := n.renewServices()
		if err != nil {
			return nil, err
		}
		lost += name
	}
	if lost != "" {
		events = append(events, n.repair(lost))
	}
	events = append(events, n.tellFault()...)
	cleared, err := n.clearPorts(ctx, sandboxes)
	events = append(events, cleared...)
	if err != nil {
		events = append(events, node.Event{Reason: Lost, Warning: true,
			Message: "host ports of pods that are gone may take those of others: " + err.Error()})
	}
	if n.reopens {
		events = append(events, n.keepPorts(ctx, sandboxes)...)
	}
	given, err := n.clearLeft(ctx, sandboxes, time.Now())
	return append(events, given...), err
}

// Watch tells when tables of the node's network were removed, until the context ends. Keep brings them back.
func (n *Network) Watch(ctx context.Context) (<-chan struct{}, error) {
	return nft.Watch(ctx, n.places.table())
}

// repair lays the rules and sysctls down again.
func (n *Network) repair(lost string) node.Event {
	n.ports.doubt()
	if !n.reopens {
		lost += " (host ports of running pods may be closed until those pods are made anew);"
	}
	const cutOff = "pods were cut off from the world or not held to their addresses, because another program removed"
	if err := n.route(); err != nil {
		return node.Event{Reason: Lost, Warning: true, Message: cutOff + lost + " setting it up again failed: " + err.Error()}
	}
	return node.Event{Reason: Repaired, Warning: true, Message: cutOff + lost + " it is set up again"}
}

// keepPorts opens the host ports of pods that were closed.
func (n *Network) keepPorts(ctx context.Context, sandboxes Sandboxes) (events []node.Event) {
	opened, err := n.reopenPorts(ctx, sandboxes)
	if opened > 0 {
		events = append(events, node.Event{Reason: Repaired, Warning: true,
			Message: fmt.Sprintf("host ports of pods were closed; opened them again (pods: %d)", opened)})
	}
	if err != nil {
		events = append(events, node.Event{Reason: Lost, Warning: true,
			Message: "host ports may stay closed until their pods are recreated: " + err.Error()})
	}
	return events
}

// lost names what route has set and is gone, each between a space and a semicolon. A setting that the kernel does
// not have is not lost.
func (n *Network) lost() (lost string, err error) {
	there, err := whole(n.routed())
	if err != nil {
		return "", err
	}
	if !there {
		lost = " nftables table " + n.places.table() + ";"
	}
	for _, s := range n.Subnets() { // one for each family
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
