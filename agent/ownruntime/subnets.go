package ownruntime

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"nodal/node"
)

// Reasons of events.
const (
	podCIDRUsed    = "PodCIDRUsed"    // the pods to come have addresses of it
	podCIDRNotUsed = "PodCIDRNotUsed" // they have others
)

// movable is a network whose subnets can change.
type movable interface {
	Subnets() []netip.Prefix
	Move(ctx context.Context, to []netip.Prefix, loaded func(context.Context) error) (bool, error)
}

// Subnets leads the pods' network to the subnets that a cluster has given the node. Nothing that runs is touched: it
// waits until no pod has an address.
type Subnets struct {
	network movable
	fixed   bool // by the configuration
	loaded  func(ctx context.Context, subnets []netip.Prefix) error
	event   func(node.Event)
	bell    node.Bell
	call    chan struct{} // has Follow look again; it has room for one

	moving  sync.Mutex // held over a try
	mu      sync.Mutex
	waiting []netip.Prefix // what the cluster has given and is not used yet
}

// Read returns the subnets of pods, and those that wait until no pod has an address.
func (s *Subnets) Read() (used, waiting []netip.Prefix) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.network.Subnets(), s.waiting
}

// Changed returns a channel that is closed when Read returns something else. It is nil for a runtime that is not the
// agent's.
func (s *Subnets) Changed() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.bell.Heard()
}

// Use has the pods to come get addresses of the subnets that the cluster has given the node: at once if no pod has an
// address, and otherwise when none has. An event says what happens.
func (s *Subnets) Use(ctx context.Context, cidrs []string) error {
	var given []netip.Prefix
	for _, cidr := range cidrs {
		subnet, err := netip.ParsePrefix(cidr)
		if err != nil {
			return fmt.Errorf("read the subnets that the cluster has given the node: %w", err)
		}
		given = append(given, subnet.Masked())
	}
	switch own := s.network.Subnets(); {
	case uses(own, given):
		s.wait(nil)
	case s.fixed:
		s.tell(podCIDRNotUsed, "the cluster has given the node %s, and podCIDR is set to %s; "+
			"end the pods and leave podCIDR out", list(given), list(own))
	default:
		s.wait(given)
		if s.try(ctx) {
			return nil
		}
		s.tell(podCIDRNotUsed, "the cluster has given the node %s; as pods have addresses of %s, "+
			"new ones get such too until all of them have ended", list(given), list(own))
	}
	return nil
}

func (s *Subnets) wait(waiting []netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = waiting
	s.bell.Ring()
	select {
	case s.call <- struct{}{}:
	default:
	}
}

// try moves the network if it can, and reports whether nothing is left to do.
func (s *Subnets) try(ctx context.Context) (done bool) {
	s.moving.Lock()
	defer s.moving.Unlock()
	from, to := s.Read()
	if to == nil {
		return true
	}
	moved, err := s.network.Move(ctx, to, func(ctx context.Context) error { return s.loaded(ctx, to) })
	if !moved && err == nil {
		return false
	}
	s.wait(nil)
	if !moved {
		s.tell(podCIDRNotUsed, "the cluster has given the node %s: %v", list(to), err)
		return true
	}
	text := fmt.Sprintf("pods get addresses of %s from now on, which the cluster has given the node; they had those of %s",
		list(to), list(from))
	if err != nil {
		text += ": " + err.Error()
	}
	s.event(node.Event{Time: time.Now(), Reason: podCIDRUsed, Message: text, Warning: err != nil})
	return true
}

// Follow moves the network once no pod has an address, which a change of the store may mean.
func (s *Subnets) Follow(ctx context.Context, changed func() <-chan struct{}) {
	for {
		var next <-chan struct{} // nil while nothing waits
		if _, waiting := s.Read(); waiting != nil {
			next = changed()
			s.try(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.call:
		case <-next:
		}
	}
}

func (s *Subnets) tell(reason, format string, args ...any) {
	s.event(node.Event{Time: time.Now(), Reason: reason, Warning: true, Message: fmt.Sprintf(format, args...)})
}

// uses reports whether all of a cluster's subnets are the network's own.
func uses(own, given []netip.Prefix) bool {
	return !slices.ContainsFunc(given, func(s netip.Prefix) bool { return !slices.Contains(own, s) })
}

func list(subnets []netip.Prefix) string {
	var all []string
	for _, s := range subnets {
		all = append(all, s.String())
	}
	return strings.Join(all, ",")
}
