package podnet

import (
	"net/netip"
	"slices"

	"github.com/google/nftables"
)

// portRule is a rule of the portmap plugin. It leads a port of the host to a pod, or belongs to such a rule.
type portRule struct {
	sandbox string     // whose port it is; empty if the rule does not say
	network string     // the network of the sandbox; empty if the rule does not say
	pod     netip.Addr // where the rule leads; invalid if it leads nowhere
	port    hostPort   // what it takes; zero if it takes nothing
	place   place
}

// hostPort tells which packets to the host a rule takes.
type hostPort struct {
	protocol string     // in small letters
	address  netip.Addr // of the host; invalid for all of them
	number   uint16
}

// place tells where a rule stands.
type place struct {
	family nftables.TableFamily
	chain  string
	handle uint64 // of nftables; with iptables each sandbox has a chain to itself
}

// covers reports whether no packet that o takes is left once p has taken its own.
func (p hostPort) covers(o hostPort) bool {
	return p.number != 0 && p.number == o.number && p.protocol == o.protocol &&
		(!p.address.IsValid() || p.address == o.address)
}

// portView holds what rules are compared with.
type portView struct {
	network string
	subnets []netip.Prefix        // of the network
	holders map[netip.Addr]string // the sandboxes that host-local holds addresses for
	ready   map[string]bool       // the runtime's sandboxes, and whether they run; nil if it does not tell
	gone    map[string]bool       // sandboxes that the runtime has not known for longer than it takes to make one
}

// ours reports whether a rule belongs to this network.
func (v portView) ours(r portRule) bool {
	if r.network != "" {
		return r.network == v.network
	}
	return r.pod.IsValid() && slices.ContainsFunc(v.subnets, func(s netip.Prefix) bool { return s.Contains(r.pod) })
}

// lives reports whether a rule leads to a sandbox that has the address. The plugins take an address before they open
// ports, and close ports before they give it back: without an address no rule can be of use.
func (v portView) lives(r portRule) bool {
	if v.gone[r.sandbox] {
		return false
	}
	if r.pod.IsValid() {
		holder, held := v.holders[r.pod]
		return held && (r.sandbox == "" || r.sandbox == holder)
	}
	for _, holder := range v.holders {
		if holder == r.sandbox {
			return true
		}
	}
	return false
}

// shadow is a rule of a running pod that no packet reaches, because a rule before it takes them.
type shadow struct{ of, by portRule }

// judge returns the rules of this network to remove: those of pods that are gone, and those of stopped pods in front of
// a running pod's rule. mended are the rules of running pods that packets reach again afterwards; foreign are those
// behind a rule that is not this network's. rules have to stand in the order in which packets meet them.
func (v portView) judge(rules []portRule) (remove []portRule, mended, foreign []shadow) {
	dead := make([]bool, len(rules))
	for i, r := range rules {
		dead[i] = v.ours(r) && !v.lives(r)
	}
	for i, r := range rules {
		if r.port.number == 0 || dead[i] || !v.ours(r) || !v.ready[r.sandbox] {
			continue
		}
		for j, before := range rules[:i] {
			if before.place.family != r.place.family || before.sandbox == r.sandbox || !before.port.covers(r.port) {
				continue
			}
			switch {
			case !v.ours(before):
				foreign = append(foreign, shadow{r, before})
			case !v.ready[before.sandbox]: // it is gone, or has stopped and could not give the port back
				dead[j] = true
				mended = append(mended, shadow{r, before})
			}
		}
	}
	for i, r := range rules {
		if dead[i] {
			remove = append(remove, r)
		}
	}
	return remove, mended, foreign
}
