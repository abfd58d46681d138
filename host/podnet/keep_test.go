package podnet

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables"

	"nodal/host/podnet/nft"
	"nodal/node"
)

func TestLostNetworkIsSetUpOnceWithOneEvent(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a network")
	}
	type loss struct {
		take func() error
		told string
	}
	flush := loss{flushRuleset, "nftables table nodal-"}
	four := loss{func() error { return setSysctl(forwarding4, "0") }, forwarding4}
	six := loss{func() error { return setSysctl(forwarding6, "0") }, forwarding6}
	for _, c := range []struct {
		name string
		lost []loss
	}{
		{"nothing is gone", nil},
		{"the firewall was flushed", []loss{flush}},
		{"forwarding was switched off", []loss{four}},
		{"forwarding of IPv6 was switched off", []loss{six}},
		{"all of it", []loss{flush, four, six}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newKept(t)
			if err := inOwnNetwork(func() error {
				err := n.route()
				n.setUpGuard()
				var want []string
				for _, l := range c.lost {
					if l.told == forwarding6 && sysctl(forwarding6) == "" {
						continue // a kernel without IPv6
					}
					err = errors.Join(err, l.take())
					want = append(want, l.told)
				}
				events, failed := keepTwice(t, n)
				lost, unseen := n.lost()
				if lost != "" {
					t.Errorf("got%s still gone", lost)
				}
				if len(events) != min(1, len(want)) {
					t.Errorf("got events %+v, want one exactly where something was gone", events)
				}
				var e node.Event
				for _, e = range events {
					if e.Reason != Repaired || !e.Warning {
						t.Errorf("got event %+v, want a warning that it was repaired", e)
					}
				}
				for _, l := range []string{flush.told, forwarding4, forwarding6} {
					if got, want := strings.Contains(e.Message, l), strings.Contains(strings.Join(want, " "), l); got != want {
						t.Errorf("%q tells of %s: got %t, want %t", e.Message, l, got, want)
					}
				}
				return errors.Join(err, failed, unseen)
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNetworkOfANodeThatIsNoLongerOursIsLeftAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a network")
	}
	n := newKept(t)
	if err := inOwnNetwork(func() error {
		n.setUpGuard()
		err := errors.Join(n.route(), flushRuleset(), setSysctl(forwarding4, "0"))
		events, failed := n.Keep(t.Context(), func() bool { return false }, noSandboxes)
		lost, unseen := n.lost()
		if lost == "" || len(events) > 0 {
			t.Errorf("got%s gone and %d events, want that nothing was done", lost, len(events))
		}
		return errors.Join(err, failed, unseen)
	}); err != nil {
		t.Error(err)
	}
}

// TestAFlushedFirewallIsNoticedAtOnce asks the kernel for its news. What the node itself changes is none.
func TestAFlushedFirewallIsNoticedAtOnce(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a network")
	}
	n := newKept(t)
	if err := inOwnNetwork(func() error {
		err := n.route()
		n.setUpGuard()
		gone, unheard := n.Watch(t.Context())
		err = errors.Join(err, unheard)
		for range 3 {
			n.setUpGuard() // replaces its tables
		}
		for _, c := range []struct {
			name string
			take func() error
		}{
			{"all of it", flushRuleset},
			{"one table", func() error {
				return nft.Remove(nft.Table{Family: nft.Bridge, Name: n.places.table()})
			}},
		} {
			select {
			case <-gone:
				t.Errorf("before %s was removed: there is news", c.name)
			case <-time.After(50 * time.Millisecond):
			}
			err = errors.Join(err, c.take())
			select {
			case <-gone:
			case <-time.After(time.Second):
				t.Errorf("%s was removed, and there is no news within a second", c.name)
			}
			_, failed := keepTwice(t, n)
			err = errors.Join(err, failed)
		}
		if lost, unseen := n.lost(); lost != "" || unseen != nil || n.lostGuard() {
			t.Errorf("still gone:%s, %v", lost, unseen)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// keepTwice looks two times, and returns the events of both.
func keepTwice(t *testing.T, n *Network) ([]node.Event, error) {
	t.Helper()
	ours := func() bool { return true }
	first, err := n.Keep(t.Context(), ours, noSandboxes)
	second, err2 := n.Keep(t.Context(), ours, noSandboxes)
	return append(first, second...), errors.Join(err, err2)
}

func noSandboxes(context.Context) (map[string]bool, error) { return nil, nil }

// newKept is a network of both families.
func newKept(t *testing.T) *Network {
	t.Helper()
	n := New(Config{Places: testPlaces(t)})
	n.use(prefixes("10.95.255.0/24", "fd01:2::/64"))
	return n
}

// flushRuleset does the first step of the reload of a firewall.
func flushRuleset() error {
	conn, err := nftables.New()
	if err != nil {
		return err
	}
	conn.FlushRuleset()
	return conn.Flush()
}
