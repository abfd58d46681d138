package ownruntime

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"

	"nodal/node"
)

// bridge is a network of pods that a test makes up.
type bridge struct {
	subnets []netip.Prefix
	pods    int
	fault   error
}

func (b *bridge) Subnets() []netip.Prefix { return b.subnets }

func (b *bridge) Move(ctx context.Context, to []netip.Prefix, loaded func(context.Context) error) (bool, error) {
	if b.fault != nil || b.pods > 0 {
		return false, b.fault
	}
	b.subnets = to
	return true, loaded(ctx)
}

func prefixes(all ...string) (list []netip.Prefix) {
	for _, s := range all {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}

func TestTheClustersSubnetsAreUsedOnceNoPodHasAnother(t *testing.T) {
	for _, c := range []struct {
		name    string
		bridge  bridge
		fixed   bool
		given   []string
		used    string
		waiting string
		event   string
	}{
		{"none has", bridge{}, false, []string{"10.244.1.0/24"}, "[10.244.1.0/24]", "[]", podCIDRUsed},
		{"of both families", bridge{}, false, []string{"10.244.1.0/24", "fd00:244:1::1/64"}, "[10.244.1.0/24 fd00:244:1::/64]", "[]", podCIDRUsed},
		{"one has", bridge{pods: 1}, false, []string{"10.244.1.0/24"}, "[10.94.90.0/24 fd12::/64]", "[10.244.1.0/24]", podCIDRNotUsed},
		{"they are its own", bridge{pods: 1}, false, []string{"10.94.90.0/24", "fd12::/64"}, "[10.94.90.0/24 fd12::/64]", "[]", ""},
		{"one of them is its own", bridge{pods: 1}, false, []string{"10.94.90.0/24"}, "[10.94.90.0/24 fd12::/64]", "[]", ""},
		{"the configuration has others", bridge{}, true, []string{"10.244.1.0/24"}, "[10.94.90.0/24 fd12::/64]", "[]", podCIDRNotUsed},
		{"the machine cannot", bridge{fault: errors.New("no IPv6")}, false, []string{"fd00::/64"}, "[10.94.90.0/24 fd12::/64]", "[]", podCIDRNotUsed},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.bridge.subnets = prefixes("10.94.90.0/24", "fd12::/64")
			told := ""
			s := &Subnets{network: &c.bridge, fixed: c.fixed, call: make(chan struct{}, 1),
				loaded: func(context.Context, []netip.Prefix) error { return nil }, event: func(e node.Event) { told += e.Reason }}
			heard := s.Changed()
			if err := s.Use(t.Context(), c.given); err != nil {
				t.Fatal(err)
			}
			used, waiting := s.Read()
			if fmt.Sprint(used) != c.used || fmt.Sprint(waiting) != c.waiting || told != c.event {
				t.Errorf("got %v, waiting %v, event %q; want %s, %s, %q", used, waiting, told, c.used, c.waiting, c.event)
			}
			select {
			case <-heard:
			default:
				if c.event != "" && !c.fixed {
					t.Error("no bell rang")
				}
			}
		})
	}
}

func TestWaitingSubnetsAreUsedWhenTheLastPodHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store node.Bell
		var told []string
		b := &bridge{subnets: prefixes("10.94.90.0/24"), pods: 2}
		s := &Subnets{network: b, call: make(chan struct{}, 1),
			loaded: func(context.Context, []netip.Prefix) error { return nil }, event: func(e node.Event) { told = append(told, e.Reason) }}
		ctx, end := context.WithCancel(t.Context())
		go s.Follow(ctx, store.Heard)
		if err := s.Use(ctx, []string{"10.244.1.0/24"}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			pods int
			used string
		}{{1, "[10.94.90.0/24]"}, {0, "[10.244.1.0/24]"}} {
			synctest.Wait()
			b.pods = c.pods
			store.Ring()
			synctest.Wait()
			if used, _ := s.Read(); fmt.Sprint(used) != c.used {
				t.Errorf("with %d pods: got %v, want %s", c.pods, used, c.used)
			}
		}
		if fmt.Sprint(told) != "["+podCIDRNotUsed+" "+podCIDRUsed+"]" {
			t.Errorf("told %v", told)
		}
		end()
		synctest.Wait()
	})
}
