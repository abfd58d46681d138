package podnet

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"nodal/host/podnet/nft"
	"nodal/host/podnet/service"
	"nodal/host/replace"
)

// Leads tells where services lead.
type Leads interface {
	// Ports returns the ports of services, and whether there is a service at all.
	Ports() (ports []service.Port, some bool)
}

// services holds what the network does for services. Nothing of it is on the machine without a service.
type services struct {
	chosen atomic.Pointer[chosen] // once the network is set up

	mu    sync.Mutex // held while the table is laid down
	leads Leads
	laid  bool
	// cleared says that nothing of services is on the machine, not even of an earlier agent.
	cleared bool
	ports   []service.Port
}

// chosen are the addresses of services.
type chosen struct {
	subnet netip.Prefix // not valid if there is none
	fault  error        // why there is none
}

func (s *services) addresses() chosen {
	if c := s.chosen.Load(); c != nil {
		return *c
	}
	return chosen{}
}

const (
	servicesSuffix = "-services"
	serviceBits    = 22
)

// ServiceSubnet holds the addresses of services, once the network is set up.
func (n *Network) ServiceSubnet() netip.Prefix { return n.served.addresses().subnet }

func (s *services) place(p Places) service.Place {
	return service.Place{Table: p.table() + servicesSuffix, Subnet: s.addresses().subnet}
}

// subnetFile keeps the choice of an earlier start.
func (p Places) subnetFile() string { return filepath.Join(filepath.Dir(p.Conflist), "services") }

// NoServices says why the node cannot have services; "" if it can.
func (n *Network) NoServices() string {
	if fault := n.served.addresses().fault; fault != nil {
		return fault.Error()
	}
	return ""
}

// chooseServices takes the subnet that is wanted, else that of an earlier start, else a free one. Pods run without one.
func (n *Network) chooseServices(wanted netip.Prefix) {
	subnet, err := n.subnetOfServices(wanted)
	n.served.chosen.Store(&chosen{subnet, err})
}

func (n *Network) subnetOfServices(wanted netip.Prefix) (subnet netip.Prefix, err error) {
	kept := n.keptServices()
	if err := fits(wanted, n.Subnets()); err != nil {
		return subnet, err
	}
	if kept.IsValid() && (wanted == kept || !wanted.IsValid()) {
		return kept, nil
	}
	taken, err := hostRoutes(n.places.bridge())
	if err != nil {
		return subnet, err
	}
	if wanted.IsValid() {
		taken = slices.DeleteFunc(taken, func(r netip.Prefix) bool { return r == kept })
		subnet, err = wanted, fits(wanted, taken)
	} else {
		subnet, err = freeServices(n.places.ID, append(taken, n.Subnets()...))
	}
	if err == nil && kept.IsValid() {
		err = letGo(kept) // only the file tells of its route
	}
	if err != nil {
		return netip.Prefix{}, err
	}
	if err := replace.File(n.places.subnetFile(), []byte(subnet.String()+"\n"), 0o600); err != nil {
		return netip.Prefix{}, fmt.Errorf("keep the addresses of services: %w", err)
	}
	return subnet, nil
}

// fits fails if addresses that are wanted for services are another's.
func fits(wanted netip.Prefix, taken []netip.Prefix) error {
	if at := slices.IndexFunc(taken, wanted.Overlaps); at >= 0 {
		return fmt.Errorf("--service-cidr %s overlaps %s, which pods or a route of the host have: give another subnet", wanted, taken[at])
	}
	return nil
}

func (n *Network) keptServices() netip.Prefix {
	text, err := os.ReadFile(n.places.subnetFile())
	if err != nil {
		return netip.Prefix{}
	}
	kept, _ := netip.ParsePrefix(strings.TrimSpace(string(text))) // a file of others is none
	return kept
}

// freeServices picks a /22 of 10.96.0.0-10.111.255.255 by the node's name, and goes on to the next that no route of the
// machine overlaps. The subnets of pods lie before it.
func freeServices(id string, taken []netip.Prefix) (netip.Prefix, error) {
	const first, count = 10<<24 | 96<<16, 1 << (serviceBits - 12)
	sum := sha256.Sum256([]byte("services " + id))
	at := binary.BigEndian.Uint32(sum[:4]) % count
	for i := range uint32(count) {
		var addr [4]byte
		binary.BigEndian.PutUint32(addr[:], first+(at+i)%count<<(32-serviceBits))
		if subnet := netip.PrefixFrom(netip.AddrFrom4(addr), serviceBits); !overlapsAny(subnet, taken) {
			return subnet, nil
		}
	}
	return netip.Prefix{}, errors.New("choose addresses for services: routes of the host cover all of " +
		"10.96.0.0-10.111.255.255: give a subnet with --service-cidr")
}

// FollowServices has packets for services find their pods, whenever these may have changed.
func (n *Network) FollowServices(ctx context.Context, changed func() <-chan struct{}, tell func(error)) {
	untilDone(ctx, changed, n.RefreshServices, tell)
}

// untilDone does something at each change. What fails is told once, and tried again ever more rarely.
func untilDone(ctx context.Context, changed func() <-chan struct{}, do func() error, tell func(error)) {
	const first, most = time.Second, time.Minute
	wait, told := first, ""
	for {
		next := changed()
		var again <-chan time.Time
		if err := do(); err == nil {
			wait, told = first, ""
		} else {
			if err.Error() != told {
				told = err.Error()
				tell(err)
			}
			again, wait = time.After(wait), min(2*wait, most)
		}
		select {
		case <-ctx.Done():
			return
		case <-next:
		case <-again:
		}
	}
}

// RefreshServices has packets for services find their pods, if something else is wanted of that than before.
func (n *Network) RefreshServices() error {
	s := &n.served
	s.mu.Lock()
	defer s.mu.Unlock()
	var ports []service.Port
	some := false
	if s.leads != nil && s.addresses().subnet.IsValid() {
		ports, some = s.leads.Ports()
	}
	switch {
	case !some && !s.cleared:
		return n.endServices()
	case !some || s.laid && slices.EqualFunc(ports, s.ports, service.Port.Equal):
		return nil
	}
	return n.layServices(ports)
}

// endServices takes away what the last service leaves, or an earlier agent. A kernel that cannot have it has nothing.
func (n *Network) endServices() error {
	s := &n.served
	if err := n.removeServices(); err != nil && !isUnsupported(err) {
		return fmt.Errorf("take away what services needed: %w", err)
	}
	gone := service.Gone(s.ports, nil)
	s.ports, s.laid, s.cleared = nil, false, true
	return forgetGone(gone)
}

// layServices lays the table down, and what the machine needs around it. What a pod was asked over UDP and cannot answer
// any more is asked of another one.
func (n *Network) layServices(ports []service.Port) error {
	s := &n.served
	place := s.place(n.places)
	s.cleared = false
	if err := keepLocal(place.Subnet); err != nil {
		return fmt.Errorf("make way for services: %w", err)
	}
	if err := nft.Replace(service.Table(place, ports)); err != nil {
		return fmt.Errorf("lead packets to services: %w", err)
	}
	gone := service.Gone(s.ports, ports)
	s.ports, s.laid = ports, true
	return forgetGone(gone)
}

func forgetGone(gone map[service.Link]bool) error {
	if err := forget(gone); err != nil {
		return fmt.Errorf("forget conversations with pods that are gone: %w", err)
	}
	return nil
}

// lostServices reports whether the table was there and is not.
func (n *Network) lostServices() bool {
	s := &n.served
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.laid {
		return false
	}
	table := service.Table(s.place(n.places), nil)
	there, err := whole(table)
	return err != nil || !there
}

// renewServices lays the table down again, and names it.
func (n *Network) renewServices() (string, error) {
	s := &n.served
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.laid { // the last service went
		return "", nil
	}
	ports, _ := s.leads.Ports()
	return " nftables table inet " + s.place(n.places).Table + ";", n.layServices(ports)
}

// removeServices takes away all that services needed. Without a record of their addresses there was none.
func (n *Network) removeServices() error {
	err := nft.Remove(nft.Table{Family: nft.Inet, Name: n.places.table() + servicesSuffix})
	kept := n.keptServices()
	if !kept.IsValid() {
		return err
	}
	return errors.Join(err, letGo(kept))
}
