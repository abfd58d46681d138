package runtime

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables"
)

func TestTheNetworkIsLaidDownAgainOnceAndToldOnce(t *testing.T) {
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
			r, events := newKept(t)
			if err := inOwnNetwork(func() error {
				err := r.layout.setUpNetwork(r.network.Subnets)
				var want []string
				for _, l := range c.lost {
					if l.told == forwarding6 && sysctl(forwarding6) == "" {
						continue // a kernel without IPv6
					}
					err = errors.Join(err, l.take())
					want = append(want, l.told)
				}
				ticks(r, 2)
				lost, failed := r.layout.lostNetwork(r.network.Subnets)
				if lost != "" {
					t.Errorf("got%s still gone", lost)
				}
				close(events)
				e, told := <-events
				if told != (len(want) > 0) || told && (e.Reason != NetworkRepaired || !e.Warning) {
					t.Errorf("got event %+v, want one exactly where something was gone", e)
				}
				for _, l := range []string{flush.told, forwarding4, forwarding6} {
					if got, want := strings.Contains(e.Message, l), strings.Contains(strings.Join(want, " "), l); got != want {
						t.Errorf("%q tells of %s: got %t, want %t", e.Message, l, got, want)
					}
				}
				if more, ok := <-events; ok {
					t.Errorf("got another event %+v", more)
				}
				return errors.Join(err, failed)
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheNetworkOfANodeThatIsNoLongerOursIsLeftAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a network")
	}
	for _, c := range []struct {
		name string
		lose func(*Runtime) error
	}{
		{"it was closed", func(r *Runtime) error { return giveBack(r.lock) }},
		{"it is cleaned, and its directory is gone", func(r *Runtime) error { return os.RemoveAll(r.layout.root) }},
		{"another agent has made it anew", func(r *Runtime) error {
			next, err := takeLock(r.layout.lock() + ".next")
			if err != nil {
				return err
			}
			t.Cleanup(func() { _ = giveBack(next) })
			return os.Rename(next.Name(), r.layout.lock())
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, events := newKept(t)
			if err := inOwnNetwork(func() error {
				err := errors.Join(r.layout.setUpNetwork(r.network.Subnets), flushRuleset(), setSysctl(forwarding4, "0"), c.lose(r))
				ticks(r, 2)
				lost, failed := r.layout.lostNetwork(r.network.Subnets)
				if lost == "" || len(events) > 0 {
					t.Errorf("got%s gone and %d events, want that nothing was done", lost, len(events))
				}
				return errors.Join(err, failed)
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

// newKept is a runtime that is about to look after its network, and its events.
func newKept(t *testing.T) (*Runtime, chan Event) {
	t.Helper()
	r, events := newFake(t)
	r.network = Network{Bridge: r.layout.bridge(), Subnets: prefixes("10.95.255.0/24", "fd01:2::/64")}
	r.daemon = &daemon{done: make(chan struct{})}
	var err error
	if r.lock, err = takeLock(r.layout.lock()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.lock.Close() })
	return r, events
}

// ticks has the supervisor look some times, and returns when it has.
func ticks(r *Runtime, times int) {
	ctx, cancel := context.WithCancel(context.Background())
	tick := make(chan time.Time)
	go func() {
		for range times + 1 { // the last one is taken after the others' looks
			tick <- time.Time{}
		}
		cancel()
	}()
	r.wait(ctx, tick)
}

// flushRuleset is what the reload of a firewall begins with.
func flushRuleset() error {
	conn, err := nftables.New()
	if err != nil {
		return err
	}
	conn.FlushRuleset()
	return conn.Flush()
}
