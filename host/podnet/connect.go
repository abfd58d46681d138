package podnet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/host/podnet/nft"
	"nodal/host/podnet/policy"
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
	held  held
}

// Source tells what is wanted of the network.
type Source interface {
	// Policies returns the NetworkPolicies.
	Policies() []*networkingv1.NetworkPolicy
	// Pod returns what policies can ask of a pod; nothing of a pod that the node does not know.
	Pod(key node.Key, uid types.UID) (labels map[string]string, ports []corev1.ContainerPort)
}

// held holds what rules are made of.
type held struct {
	policies []*networkingv1.NetworkPolicy
	pods     []policy.Pod
}

func (h held) equal(o held) bool {
	return slices.Equal(h.policies, o.policies) && slices.EqualFunc(h.pods, o.pods, func(a, b policy.Pod) bool {
		return a.Key == b.Key && maps.Equal(a.Labels, b.Labels) && slices.Equal(a.Ports, b.Ports) &&
			slices.Equal(a.Addresses, b.Addresses)
	})
}

// asked reads what the rules are to be made of. Without policies nothing is asked of pods.
func (n *Network) asked() (h held) {
	if n.source == nil {
		return held{}
	}
	if h.policies = n.source.Policies(); len(h.policies) == 0 {
		return held{}
	}
	for _, e := range sorted(n.connected.ends) {
		p := policy.Pod{Key: e.pod, Addresses: e.addresses}
		p.Labels, p.Ports = n.source.Pod(e.pod, e.uid)
		h.pods = append(h.pods, p)
	}
	return h
}

// Follow holds the pods to what is wanted, whenever that may have changed. An error is told, and tried again at the next
// change and by Keep.
func (n *Network) Follow(ctx context.Context, changed func() <-chan struct{}, tell func(error)) {
	for {
		next := changed()
		if err := n.refresh(); err != nil {
			tell(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-next:
		}
	}
}

// refresh lays the tables down again if something else is wanted of them.
func (n *Network) refresh() error {
	c := &n.connected
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.asked().equal(c.held) {
		return nil
	}
	present, err := links()
	if err != nil {
		return err
	}
	if err := n.layGuard(present); err != nil {
		return fmt.Errorf("apply NetworkPolicies: %w", err)
	}
	return nil
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
	c := &n.connected
	want := n.asked()
	if c.fault = nft.Replace(n.tables(present[n.places.bridge()].HardwareAddr, want)...); c.fault == nil {
		c.held = want
	}
	return c.fault
}

// tables are the guard and the policies of the pods that are connected. Before the first pod the bridge has no card.
func (n *Network) tables(bridge net.HardwareAddr, h held) []nft.Table {
	name, some := n.places.table(), len(h.policies) > 0
	policies := nft.Table{Family: nft.Inet, Name: name + policySuffix}
	if some {
		policies = policy.Table(policies.Name, n.places.bridge(), h.policies, h.pods)
	}
	return []nft.Table{guard(name, bridge, n.Subnets(), sorted(n.connected.ends), some), policies}
}

const policySuffix = "-policy"

// isUnsupported reports whether an error says that the kernel has no tables for bridges.
func isUnsupported(err error) bool {
	return errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOENT)
}

// lostGuard reports whether the guard is not there.
func (n *Network) lostGuard() bool {
	c := &n.connected
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range n.tables(nil, c.held) {
		if there, err := whole(t); err != nil || !there {
			return true
		}
	}
	return c.fault != nil
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
	return fmt.Sprintf("pods can send from each other's addresses, and are held to no NetworkPolicies: %v; use a kernel "+
		"with CONFIG_NF_TABLES_BRIDGE", n.connected.fault)
}

// removeGuard removes the guard and the policies of a node. A kernel that cannot have them has none.
func removeGuard(name string) error {
	err := nft.Remove(nft.Table{Family: nft.Bridge, Name: name}, nft.Table{Family: nft.Inet, Name: name + policySuffix})
	if err != nil && !isUnsupported(err) {
		return err
	}
	return nil
}
