package listen

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// visitor is a connection from an address, which notes that it was closed.
type visitor struct {
	net.Conn
	from   string
	closed bool
}

func (v *visitor) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(v.from), 1))
}

func (v *visitor) Close() error {
	v.closed = true
	return nil
}

func TestACrowdMakesRoom(t *testing.T) {
	cases := []struct {
		name  string
		from  []string // of each connection, in order
		busy  []int    // these have a request under way, in order
		done  []int    // and these had one
		comes string
		want  int // the one that is closed, or -1
	}{
		{"there is room", []string{"10.0.0.1", "10.0.0.2"}, nil, nil, "10.0.0.3", -1},
		{"the oldest goes", []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"}, nil, nil, "10.0.0.5", 0},
		{"an address makes room for itself", []string{"10.0.0.1", "10.0.0.2", "10.0.0.2"}, nil, nil, "10.0.0.2", 1},
		{"one that asks stays", []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"}, []int{0}, nil, "10.0.0.5", 1},
		{"one that asked lately stays", []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"}, []int{0}, []int{0}, "10.0.0.5", 1},
		{"all ask, the oldest request goes", []string{"10.0.0.1", "10.0.0.1"}, []int{1, 0}, nil, "10.0.0.1", 1},
		{"a caller has all of its /64", []string{"2001:db8::1", "2001:db8::2", "2001:db8:1::1"}, nil, nil, "2001:db8::ffff:1", 0},
		{"v4 in v6 is v4", []string{"10.0.0.1", "::ffff:10.0.0.1"}, nil, nil, "10.0.0.1", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			crowd := &crowd{most: 4, each: 2, requests: 9}
			var all []*visitor
			var members []*member
			for _, from := range c.from {
				v := &visitor{from: from}
				all = append(all, v)
				members = append(members, crowd.add(v))
			}
			for _, i := range c.busy {
				members[i].begin()
			}
			for _, i := range c.done {
				members[i].finish()
			}
			crowd.add(&visitor{from: c.comes})
			got := slices.IndexFunc(all, func(v *visitor) bool { return v.closed })
			if got != c.want {
				t.Errorf("got %d closed, want %d", got, c.want)
			}
			if c.want >= 0 {
				members[c.want].leave() // which is gone already
			}
		})
	}
}

func TestRequestsOfACrowdAreBounded(t *testing.T) {
	c := &crowd{most: 9, each: 9, requests: 3}
	var all []*visitor
	var members []*member
	for i := range 3 {
		v := &visitor{from: "10.0.0." + strconv.Itoa(i)}
		all, members = append(all, v), append(members, c.add(v))
	}
	members[1].begin()
	members[0].begin()
	members[0].begin()
	members[2].begin()
	if all[0].closed || !all[1].closed || all[2].closed {
		t.Errorf("closed: %v %v %v, want the one with the oldest request alone", all[0].closed, all[1].closed, all[2].closed)
	}
	members[1].finish() // of the one that was closed
	members[2].leave()
	if c.busy != 2 {
		t.Errorf("got %d requests under way, want 2", c.busy)
	}
}

func TestAMemberOfACrowdHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{most: 9, each: 9, age: time.Minute}
		stays, leaves := &visitor{from: "10.0.0.1"}, &visitor{from: "10.0.0.2"}
		c.add(stays)
		c.add(leaves).leave()
		time.Sleep(time.Minute)
		synctest.Wait()
		if !stays.closed || leaves.closed {
			t.Errorf("closed: %v and %v, want the one that stayed alone", stays.closed, leaves.closed)
		}
	})
}
