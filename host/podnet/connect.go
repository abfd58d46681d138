package podnet

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"

	"golang.org/x/sys/unix"

	"nodal/host/podnet/nft"
	"nodal/node"
)

// Unguarded is the reason of the event of a network whose pods can send from addresses that are not theirs.
const Unguarded = "NetworkUnguarded"

// connected are the pods that the guard knows.
type connected struct {
	mu    sync.Mutex // held while the guard is laid down
	ends  map[string]end
	fault error // why the guard is not there
	told  string
}

// Connect lets a pod onto the network. Before that it reaches nothing, and nothing reaches it: its containers begin
// after Connect. The plugins have connected the sandbox. Without that, as on the host's network, there is nothing to do.
func (n *Network) Connect(sandbox string) error {
	c := &n.connected
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.ends[sandbox]; known {
		return nil
	}
	present, err := links()
	if err != nil {
		return err
	}
	found, err := n.readEnds(n.places.bridge()+"-"+sandbox+"-*", present)
	if err != nil || len(found) == 0 {
		return err
	}
	maps.DeleteFunc(c.ends, func(_ string, e end) bool { return present[e.link].Index != e.index })
	maps.Copy(c.ends, found)
	if err := n.layGuard(present); err != nil && !isUnsupported(err) {
		delete(c.ends, sandbox) // the next call tries again
		return fmt.Errorf("connect sandbox %s to the pods' network: %w", sandbox, err)
	}
	return nil
}

// setUpGuard lays the guard down for all pods that are connected. tellFault tells of a failure: pods run without a
// guard, as they do on other networks.
func (n *Network) setUpGuard() {
	c := &n.connected
	c.mu.Lock()
	defer c.mu.Unlock()
	present, err := links()
	if err == nil {
		var ends map[string]end
		if ends, err = n.readEnds(n.places.bridge()+"-*", present); err == nil {
			c.ends = ends
			err = n.layGuard(present)
		}
	}
	c.fault = err
}

func (n *Network) layGuard(present map[string]net.Interface) error {
	n.connected.fault = nft.Replace(n.guard(present[n.places.bridge()].HardwareAddr))
	return n.connected.fault
}

// guard is the table for the pods that are connected. Before the first pod the bridge has no card.
func (n *Network) guard(bridge net.HardwareAddr) nft.Table {
	return guard(n.places.table(), bridge, n.subnets, sorted(n.connected.ends))
}

// isUnsupported reports whether an error says that the kernel has no tables for bridges.
func isUnsupported(err error) bool {
	return errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOENT)
}

// lostGuard reports whether the guard is not there.
func (n *Network) lostGuard() bool {
	c := &n.connected
	c.mu.Lock()
	defer c.mu.Unlock()
	there, err := whole(n.guard(nil))
	return c.fault != nil || err != nil || !there
}

// renewGuard lays the guard down again, and names it if it had been there.
func (n *Network) renewGuard() (lost string) {
	had := n.Fault() == ""
	n.setUpGuard()
	if !had || n.Fault() != "" {
		return ""
	}
	return " nftables table bridge " + n.places.table() + ";"
}

// tellFault returns an event once if the guard cannot be laid down.
func (n *Network) tellFault() []node.Event {
	fault, c := n.Fault(), &n.connected
	if fault == c.told {
		return nil
	}
	c.told = fault
	if fault == "" {
		return nil
	}
	return []node.Event{{Reason: Unguarded, Warning: true, Message: fault}}
}

// Fault says what the network cannot do on this machine. It is empty if there is no such thing.
func (n *Network) Fault() string {
	n.connected.mu.Lock()
	defer n.connected.mu.Unlock()
	if n.connected.fault == nil {
		return ""
	}
	return fmt.Sprintf("pods can send from each other's addresses, because the kernel takes no rules for bridges "+
		"(CONFIG_NF_TABLES_BRIDGE): %v", n.connected.fault)
}

// removeGuard removes the guard of a node. A kernel that cannot have one has none.
func removeGuard(name string) error {
	if err := nft.Remove(guard(name, nil, nil, nil)); err != nil && !isUnsupported(err) {
		return err
	}
	return nil
}
