package service

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"net/netip"

	"nodal/host/podnet/nft"
)

// Place says where a node has its services.
type Place struct {
	Table  string       // the name of the table
	Subnet netip.Prefix // of the addresses of services
}

// Names of the maps.
const (
	byAddress = "services"
	byPort    = "ports"
	backends  = "backends"
)

// shares counts the parts of the clients that are dealt among the pods of a port whose clients stay.
const shares = 128

// Table is the table that leads packets for the ports to their backends.
func Table(at Place, ports []Port) nft.Table {
	w := &writer{
		seen:     map[string]bool{},
		services: nft.Set{Name: byAddress, Fields: []nft.Field{nft.IP4Dest, nft.Transport, nft.DestPort}, Map: true},
		nodes:    nft.Set{Name: byPort, Fields: []nft.Field{nft.Transport, nft.DestPort}, Map: true},
		backends: nft.Set{Name: backends, Fields: []nft.Field{nft.Number}, Map: true, To: []nft.Field{nft.IP4Dest, nft.DestPort}},
	}
	for _, p := range ports {
		ours := at.Subnet.Contains(p.At.Addr()) // or else an address from before the subnet was another one
		if len(p.Backends) > 0 && (ours || p.OnNode > 0) && w.first(p.At, p.Protocol) {
			w.port(p, ours)
		}
	}
	chains := append(w.chains,
		nft.Chain{Name: "arrives", Hook: nft.Translates, Rules: lookUps()}, nft.Chain{Name: "begins", Hook: nft.Addresses, Rules: lookUps()},
		nft.Chain{Name: "passes", Hook: nft.Passes, Rules: at.refuse()}, nft.Chain{Name: "leaves", Hook: nft.Begins, Rules: at.refuse()},
	)
	return nft.Table{Family: nft.Inet, Name: at.Table, Sets: []nft.Set{w.services, w.nodes, w.backends}, Chains: chains}
}

// lookUps lead a new connection to a port's chain: by the address of the service, or by a port of the machine. The loopback
// addresses are left to the machine's own programs.
func lookUps() []nft.Rule {
	loopback := netip.MustParsePrefix("127.0.0.0/8")
	local := binary.NativeEndian.AppendUint32(nil, nft.Local)
	return []nft.Rule{
		{Do: nft.Choose(byAddress, nft.IP4Dest, nft.Transport, nft.DestPort)},
		{If: []nft.Match{
			nft.Not(nft.Within(nft.IP4Dest, loopback.Addr().AsSlice(), loopback.Bits())), nft.Is(nft.DestKind, local),
		}, Do: nft.Choose(byPort, nft.Transport, nft.DestPort)},
	}
}

// refuse answers what no service takes.
func (at Place) refuse() []nft.Rule {
	const tcp = 6
	ours := nft.Within(nft.IP4Dest, at.Subnet.Addr().AsSlice(), at.Subnet.Bits())
	return []nft.Rule{
		// The kernel takes a reset at once, and other news only after it has sent again.
		{If: []nft.Match{ours, nft.Is(nft.Transport, []byte{tcp})}, Do: nft.Reset()},
		{If: []nft.Match{ours}, Do: nft.Refuse()},
	}
}

type writer struct {
	services, nodes, backends nft.Set
	chains                    []nft.Chain
	seen                      map[string]bool
}

// first reports whether the table has none of this yet. The kernel refuses a whole table that has a key twice.
func (w *writer) first(at any, protocol byte) bool {
	key := fmt.Sprint(at, "/", protocol)
	had := w.seen[key]
	w.seen[key] = true
	return !had
}

// port adds the chain of a port and what leads there: its address, if that is ours, and its port of the machine.
func (w *writer) port(p Port, ours bool) {
	chain := fmt.Sprintf("port-%d", len(w.chains)+1)
	protocol := []byte{p.Protocol}
	if ours {
		w.services.Keys = append(w.services.Keys, nft.Key{
			Values: [][]byte{p.At.Addr().AsSlice(), protocol, nft.Port(p.At.Port())}, Chain: chain,
		})
	}
	if p.OnNode > 0 && w.first(p.OnNode, p.Protocol) {
		w.nodes.Keys = append(w.nodes.Keys, nft.Key{Values: [][]byte{protocol, nft.Port(p.OnNode)}, Chain: chain})
	}
	among := p.Backends
	if p.Sticky {
		among = deal(p.Backends)
	}
	first := uint32(len(w.backends.Keys))
	for i, b := range among {
		number := binary.NativeEndian.AppendUint32(nil, first+uint32(i))
		w.backends.Keys = append(w.backends.Keys, nft.Key{
			Values: [][]byte{number}, To: [][]byte{b.Addr().AsSlice(), nft.Port(b.Port())},
		})
	}
	w.chains = append(w.chains, nft.Chain{Name: chain, Rules: []nft.Rule{
		{Do: nft.Backend(backends, nft.Choice{First: first, Count: uint32(len(among)), BySource: p.Sticky})},
	}})
}

// deal gives each share of the clients to the backend that scores most for it. A backend that goes takes its own shares
// along, and no others change.
func deal(among []netip.AddrPort) []netip.AddrPort {
	dealt := make([]netip.AddrPort, shares)
	for share := range dealt {
		most := uint64(0)
		for _, b := range among {
			sum := fnv.New64a()
			fmt.Fprint(sum, share, b)
			if score := mixed(sum.Sum64()); score >= most {
				most, dealt[share] = score, b
			}
		}
	}
	return dealt
}

// mixed spreads a sum over all bits: those of similar texts are similar.
func mixed(sum uint64) uint64 {
	sum ^= sum >> 33
	sum *= 0xff51afd7ed558ccd
	sum ^= sum >> 33
	sum *= 0xc4ceb9fe1a85ec53
	return sum ^ sum>>33
}
