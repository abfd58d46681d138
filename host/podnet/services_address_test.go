package podnet

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodal/host/podnet/service"
)

func TestServicesHaveFreeAddressesOfTheirOwn(t *testing.T) {
	first, err := freeServices("abcdef", nil)
	if err != nil || first.Bits() != serviceBits || !netip.MustParsePrefix("10.96.0.0/12").Overlaps(first) {
		t.Fatalf("got %s (%v)", first, err)
	}
	next, err := freeServices("abcdef", []netip.Prefix{first})
	if err != nil || next.Overlaps(first) {
		t.Errorf("beside %s got %s (%v)", first, next, err)
	}
	if other, _ := freeServices("fedcba", nil); other == first {
		t.Errorf("two nodes have %s", other)
	}
	if got, err := freeServices("abcdef", []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}); err == nil {
		t.Errorf("where all is taken: got %s", got)
	}
}

func TestAddressesOfServicesAreKept(t *testing.T) {
	n := newKept(t)
	n.use([]netip.Prefix{netip.MustParsePrefix("10.95.255.0/24")})
	if err := os.MkdirAll(filepath.Dir(n.places.Conflist), 0o700); err != nil {
		t.Fatal(err)
	}
	n.chooseServices(netip.Prefix{})
	first := n.ServiceSubnet()
	if !first.IsValid() || n.NoServices() != "" {
		t.Errorf("there is none: %s", n.NoServices())
	}
	again := New(Config{Places: n.places})
	again.use(n.Subnets())
	if again.chooseServices(netip.Prefix{}); again.ServiceSubnet() != first {
		t.Errorf("the next agent has %s (%s), want %s", again.ServiceSubnet(), again.NoServices(), first)
	}
	if again.chooseServices(netip.MustParsePrefix("10.95.0.0/16")); !strings.Contains(again.NoServices(), "overlaps 10.95.255.0/24") {
		t.Errorf("with addresses of pods it has %s (%s)", again.ServiceSubnet(), again.NoServices())
	}
}

func TestServicesAreNotGivenWhatTheHostReaches(t *testing.T) {
	taken := netip.MustParsePrefix("10.200.7.0/24")
	if err := fits(netip.MustParsePrefix("10.200.0.0/16"), []netip.Prefix{taken}); err == nil {
		t.Errorf("%s was given", taken)
	}
	if err := fits(netip.MustParsePrefix("10.201.0.0/16"), []netip.Prefix{taken}); err != nil {
		t.Error(err)
	}
	if err := fits(netip.Prefix{}, []netip.Prefix{taken}); err != nil {
		t.Errorf("where nothing is wanted: %v", err)
	}
}

func TestTheRouteOfAnEarlierSubnetIsLetGo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a network")
	}
	n := newKept(t)
	if err := os.MkdirAll(filepath.Dir(n.places.Conflist), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := inOwnNetwork(func() error {
		if err := run("ip link set lo up"); err != nil {
			return err
		}
		n.chooseServices(netip.Prefix{})
		if err := keepLocal(n.ServiceSubnet()); err != nil {
			return err
		}
		wanted := netip.MustParsePrefix("10.200.0.0/16")
		if n.chooseServices(wanted); n.ServiceSubnet() != wanted || n.keptServices() != wanted {
			t.Errorf("with a setting it has %s (%s)", n.ServiceSubnet(), n.NoServices())
		}
		if left, err := exec.Command("ip", "route", "show").CombinedOutput(); err != nil || len(left) > 0 {
			t.Errorf("left: %s (%v)", left, err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// The store asks for the addresses while it is changed, which may not wait for the kernel.
func TestAddressesOfServicesAreToldWhileTheTableIsLaid(t *testing.T) {
	n := newKept(t)
	n.served.chosen.Store(&chosen{fault: errors.New("none is free")})
	n.served.mu.Lock()
	defer n.served.mu.Unlock()
	told := make(chan string)
	go func() {
		_ = n.ServiceSubnet()
		told <- n.NoServices()
	}()
	select {
	case got := <-told:
		if got != "none is free" {
			t.Errorf("got %q", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("nothing is told")
	}
}

func TestNothingIsLeftWithoutServices(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a network")
	}
	some := promises{{At: netip.MustParseAddrPort("10.200.0.20:80"), Protocol: 6, Backends: []netip.AddrPort{netip.MustParseAddrPort("10.95.255.2:80")}}}
	none := Leads(&promises{})
	for _, c := range []struct {
		name  string
		leads Leads // of the agent that comes next; nil if it is the same one, whose last service goes
		not   bool  // the next agent has no services at all
	}{{"the last one goes", nil, false}, {"the next agent has none", none, false}, {"the next agent serves none", nil, true}} {
		n, leads := newKept(t), some
		n.served.leads = &leads
		if err := os.MkdirAll(filepath.Dir(n.places.Conflist), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := inOwnNetwork(func() error {
			if err := run("ip link set lo up"); err != nil {
				return err
			}
			n.chooseServices(netip.MustParsePrefix("10.200.0.0/16"))
			if err := n.RefreshServices(); err != nil || n.lostServices() {
				return fmt.Errorf("the table is not there: %w", err)
			}
			if leads = nil; c.leads != nil || c.not {
				n = New(Config{Places: n.places, Leads: c.leads})
				n.chooseServices(netip.Prefix{})
			}
			for range 2 {
				if err := n.RefreshServices(); err != nil {
					return err
				}
			}
			there, err := whole(service.Table(n.served.place(n.places), nil))
			left, err2 := exec.Command("ip", "route", "show").CombinedOutput()
			if there || len(left) > 0 || n.lostServices() {
				t.Errorf("%s: the table is left: %t, routes: %s", c.name, there, left)
			}
			return errors.Join(err, err2)
		}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
