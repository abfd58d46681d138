package podnet

import (
	"context"
	"net/netip"
)

// Making keeps the network's subnets as they are until made is called: a pod is being connected.
func (n *Network) Making() (made func()) {
	n.making.RLock()
	return n.making.RUnlock
}

// Move gives the pods to come other subnets, and reports whether it did. It does not while a pod is connected, or is
// being connected: a bridge has one subnet of a family, and a pod keeps its address. No pod is made before loaded
// returns, which waits until the runtime has read the new description of the network. A crash on the way leaves a
// description, and SetUp does the rest.
func (n *Network) Move(ctx context.Context, to []netip.Prefix, loaded func(context.Context) error) (bool, error) {
	if err := possible(to, hasIPv6()); err != nil {
		return false, err
	}
	if !n.making.TryLock() {
		return false, nil
	}
	defer n.making.Unlock()
	if pods, err := n.places.connected(); err != nil || pods > 0 {
		return false, err
	}
	if err := removeBridge(n.places.bridge()); err != nil {
		return false, err
	}
	if err := n.places.writeConflist(ctx, to, n.places.earlier().ports); err != nil {
		return false, err
	}
	n.use(to)
	if err := n.route(); err != nil {
		return true, err // Keep tries again
	}
	n.setUpGuard()
	return true, loaded(ctx)
}
