package policy

import (
	"net/netip"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
)

// span is a range of addresses of one family, both ends included.
type span struct{ first, last netip.Addr }

func one(a netip.Addr) span { return span{a, a} }

// spanOf is the range of a prefix.
func spanOf(p netip.Prefix) span {
	last := p.Masked().Addr().AsSlice()
	for bit := p.Bits(); bit < len(last)*8; bit++ {
		last[bit/8] |= 0x80 >> (bit % 8)
	}
	end, _ := netip.AddrFromSlice(last)
	return span{p.Masked().Addr(), end}
}

// block returns the ranges of an ipBlock. A text that is no prefix, which the rules for manifests keep out, has none.
func block(b *networkingv1.IPBlock) []span {
	whole, err := netip.ParsePrefix(b.CIDR)
	if err != nil {
		return nil
	}
	left := []span{spanOf(whole)}
	for _, text := range b.Except {
		except, err := netip.ParsePrefix(text)
		if err != nil {
			return nil // more than was meant must not be let in
		}
		left = without(left, spanOf(except))
	}
	return left
}

// without takes a range out of others.
func without(all []span, out span) (left []span) {
	for _, s := range all {
		if s.first.Is6() != out.first.Is6() || s.last.Less(out.first) || out.last.Less(s.first) {
			left = append(left, s)
			continue
		}
		if s.first.Less(out.first) {
			left = append(left, span{s.first, out.first.Prev()})
		}
		if out.last.Less(s.last) {
			left = append(left, span{out.last.Next(), s.last})
		}
	}
	return left
}

// union sorts ranges of one family, and joins those that touch.
func union(all []span) (joined []span) {
	all = slices.SortedFunc(slices.Values(all), func(a, b span) int { return a.first.Compare(b.first) })
	for _, s := range all {
		n := len(joined)
		if n == 0 || joined[n-1].last.Less(s.first) && joined[n-1].last.Next() != s.first {
			joined = append(joined, s)
		} else if joined[n-1].last.Less(s.last) {
			joined[n-1].last = s.last
		}
	}
	return joined
}
