package podnet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"nodal/host/thread"
	"nodal/node"
)

// wishes are a source that tests write.
type wishes struct {
	policies []*networkingv1.NetworkPolicy
	labels   map[types.UID]map[string]string
}

func (w *wishes) Policies() []*networkingv1.NetworkPolicy { return w.policies }

func (w *wishes) Pod(_ node.Key, uid types.UID) (map[string]string, []corev1.ContainerPort) {
	return w.labels[uid], []corev1.ContainerPort{{Name: "web", ContainerPort: 80, Protocol: corev1.ProtocolTCP}}
}

// netns is a pod's network, with a thread that stays in it.
type netns struct {
	wire
	do chan func()
}

// inside runs a function in the pod's network.
func (p netns) inside(do func() error) error {
	done := make(chan error)
	p.do <- func() { done <- do() }
	return <-done
}

// startPod connects a pod that has a network of its own, as a runtime does.
func startPod(n *Network, number int) (netns, error) {
	w, err := cable(n, number)
	if err != nil {
		return netns{}, err
	}
	p, started := netns{w, make(chan func())}, make(chan int)
	go thread.Own(func() error {
		if unix.Unshare(unix.CLONE_NEWNET) != nil {
			started <- 0
			return nil
		}
		started <- unix.Gettid()
		for f := range p.do {
			f()
		}
		return nil
	})
	thread := <-started
	if err := run(fmt.Sprintf("ip link set pod%d netns %d", number, thread)); err != nil {
		return netns{}, err
	}
	gateway4, gateway6 := "10.95.255.1", "fd01:2::1"
	return p, errors.Join(n.record(w), p.inside(func() error {
		return run(
			"ip link set lo up", fmt.Sprintf("ip link set pod%d up", number),
			fmt.Sprintf("ip addr add %s/24 dev pod%d", w.addresses[0], number),
			fmt.Sprintf("ip -6 addr add %s/64 dev pod%d nodad", w.addresses[1], number),
			"ip route add default via "+gateway4, "ip -6 route add default via "+gateway6,
		)
	}))
}

// listen opens a port of the pod.
func (p netns) listen(port int) (l net.Listener, err error) {
	err = p.inside(func() (err error) {
		l, err = net.Listen("tcp", fmt.Sprintf("[::]:%d", port))
		return err
	})
	return l, err
}

// dial connects to an address from inside of the pod.
func (p netns) dial(to netip.AddrPort, patience time.Duration) (conn net.Conn, err error) {
	err = p.inside(func() (err error) {
		conn, err = net.DialTimeout("tcp", to.String(), patience)
		return err
	})
	return conn, err
}

// gets reports whether the pod can connect to another. It does not wait long for what is not to happen.
func (p netns) gets(to netns, six bool, port int, want bool) bool {
	a := to.addresses[0]
	if six {
		a = to.addresses[1]
	}
	return p.getsAt(netip.AddrPortFrom(a, uint16(port)), want)
}

func (p netns) getsAt(to netip.AddrPort, want bool) bool {
	patience := 150 * time.Millisecond
	if want {
		patience = 10 * time.Second
	}
	conn, err := p.dial(to, patience)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

func newPolicies(t *testing.T, text string) (all []*networkingv1.NetworkPolicy) {
	t.Helper()
	for i, spec := range strings.Split(text, "---") {
		p := new(networkingv1.NetworkPolicy)
		if err := yaml.UnmarshalStrict([]byte("spec: "+spec), p); err != nil {
			t.Fatal(err)
		}
		p.Name = fmt.Sprint("p", i)
		all = append(all, p)
	}
	return all
}

// TestPoliciesHoldBetweenPods asks the kernel, with the module br_netfilter and without.
func TestPoliciesHoldBetweenPods(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a network")
	}
	for _, filtered := range []string{"0", "1"} {
		t.Run("bridge-nf-call "+filtered, func(t *testing.T) {
			w := &wishes{labels: map[types.UID]map[string]string{"veth2": {"app": "a"}, "veth3": {"app": "b"}}}
			n := newKept(t)
			n.cache, n.source = t.TempDir(), w
			if err := inOwnNetwork(func() error { return policiesHold(t, n, w, filtered) }); err != nil {
				t.Error(err)
			}
		})
	}
}

func policiesHold(t *testing.T, n *Network, w *wishes, filtered string) error {
	bridge := n.places.bridge()
	if err := run("ip link add "+bridge+" type bridge", "ip link set "+bridge+" up", "ip link set lo up",
		"ip addr add 10.95.255.1/24 dev "+bridge, "ip -6 addr add fd01:2::1/64 dev "+bridge+" nodad"); err != nil {
		return err
	}
	for _, family := range []string{"ip", "ip6"} {
		if err := setSysctl("bridge/bridge-nf-call-"+family+"tables", filtered); err != nil {
			return err
		}
	}
	if err := n.route(); err != nil {
		return err
	}
	n.setUpGuard()
	// A host port of b, as the portmap plugin opens one.
	if err := run("iptables -t nat -A PREROUTING -p tcp --dport 8888 -m addrtype --dst-type LOCAL -j DNAT --to-destination 10.95.255.3:80"); err != nil {
		return err
	}
	a, err := startPod(n, 2)
	b, err2 := startPod(n, 3)
	c, err3 := startPod(n, 4)
	if err := errors.Join(err, err2, err3, n.Connect("box-veth2"), n.Connect("box-veth3"), n.Connect("box-veth4")); err != nil {
		return err
	}
	defer close(a.do)
	defer close(b.do)
	defer close(c.do)
	listeners := []net.Listener{}
	for _, at := range []struct {
		pod  netns
		port int
	}{{a, 80}, {b, 80}, {b, 81}, {c, 80}} {
		l, err := at.pod.listen(at.port)
		if err != nil {
			return err
		}
		defer l.Close()
		listeners = append(listeners, l)
	}
	echo(listeners[1])
	standing, err := a.dial(netip.AddrPortFrom(b.addresses[0], 80), 10*time.Second)
	if err != nil {
		return fmt.Errorf("without policies: %w", err)
	}
	defer standing.Close()
	if !says(standing) {
		t.Error("without policies a connection carries nothing")
	}
	for _, k := range []struct {
		name, policies string
		ab, ab81, cb   bool // which pod connects to which
		ba             bool
	}{
		{"none", "", true, true, true, true},
		{"deny all", "{podSelector: {}, policyTypes: [Ingress, Egress]}", false, false, false, false},
		{"deny into b", "{podSelector: {matchLabels: {app: b}}, policyTypes: [Ingress]}", false, false, false, true},
		{"deny out of a", "{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress]}", false, false, true, true},
		{"a into b", "{podSelector: {matchLabels: {app: b}}, policyTypes: [Ingress], " +
			"ingress: [{from: [{podSelector: {matchLabels: {app: a}}}]}]}", true, true, false, true},
		{"one port of b by name", "{podSelector: {matchLabels: {app: b}}, policyTypes: [Ingress], " +
			"ingress: [{ports: [{port: web, protocol: TCP}]}]}", true, false, true, true},
		{"ports of b by number", "{podSelector: {matchLabels: {app: b}}, policyTypes: [Ingress], " +
			"ingress: [{ports: [{port: 81, endPort: 90, protocol: TCP}]}]}", false, true, false, true},
		{"a block but for c", "{podSelector: {matchLabels: {app: b}}, policyTypes: [Ingress], ingress: [{from: [" +
			"{ipBlock: {cidr: 10.95.255.0/24, except: [10.95.255.4/32]}}, {ipBlock: {cidr: \"fd01:2::/64\", except: [\"fd01:2::4/128\"]}}]}]}",
			true, true, false, true},
		{"out of a to 81, and into b from anywhere", "{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], " +
			"egress: [{to: [{podSelector: {}}], ports: [{port: 81, protocol: TCP}]}]}---" +
			"{podSelector: {matchLabels: {app: b}}, policyTypes: [Ingress], ingress: [{}]}", false, true, true, true},
		{"into b from the namespace of c, by its name", "{podSelector: {matchLabels: {app: b}}, policyTypes: [Ingress], " +
			"ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: other}}}]}]}", false, false, true, true},
		{"into b from every namespace", "{podSelector: {matchLabels: {app: b}}, policyTypes: [Ingress], " +
			"ingress: [{from: [{namespaceSelector: {}}]}]}", true, true, true, true},
		{"into b from pods of a label in the namespace of c", "{podSelector: {matchLabels: {app: b}}, policyTypes: [Ingress], " +
			"ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: other}}, podSelector: {matchLabels: {app: a}}}]}]}",
			false, false, false, true},
		{"out of b into the namespace of c alone", "{podSelector: {matchLabels: {app: b}}, policyTypes: [Egress], " +
			"egress: [{to: [{namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [other]}]}}]}]}",
			true, true, true, false},
		{"none again", "", true, true, true, true},
	} {
		w.policies = nil
		if k.policies != "" {
			w.policies = newPolicies(t, k.policies)
		}
		if err := n.refresh(); err != nil {
			return err
		}
		for _, six := range []bool{false, true} {
			for _, try := range []struct {
				name string
				from netns
				to   netns
				port int
				want bool
			}{
				{"a to b", a, b, 80, k.ab}, {"a to b at 81", a, b, 81, k.ab81}, {"c to b", c, b, 80, k.cb},
				{"b to a", b, a, 80, k.ba}, {"c to itself", c, c, 80, true},
			} {
				if got := try.from.gets(try.to, six, try.port, try.want); got != try.want {
					t.Errorf("%s: %s, IPv6 %t: %t, want %t", k.name, try.name, six, got, try.want)
				}
			}
		}
		for _, try := range []struct {
			name string
			from netns
			want bool
		}{{"a", a, k.ab}, {"c", c, k.cb}} {
			if got := try.from.getsAt(netip.MustParseAddrPort("10.95.255.1:8888"), try.want); got != try.want {
				t.Errorf("%s: %s to b's host port: %t, want %t", k.name, try.name, got, try.want)
			}
		}
		if host, err := net.DialTimeout("tcp", netip.AddrPortFrom(b.addresses[0], 80).String(), time.Second); err != nil {
			t.Errorf("%s: the host does not reach b: %v", k.name, err)
		} else {
			_ = host.Close()
		}
		if k.name == "a into b" && !says(standing) {
			t.Errorf("%s: a connection that stands carries nothing", k.name)
		}
	}
	return nil
}

// echo answers each byte with itself.
func echo(l net.Listener) {
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buffer := make([]byte, 1)
				for {
					if _, err := conn.Read(buffer); err != nil {
						return
					}
					if _, err := conn.Write(buffer); err != nil {
						return
					}
				}
			}()
		}
	}()
}

// says reports whether a connection carries a byte there and back.
func says(conn net.Conn) bool {
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := conn.Write([]byte{1}); err != nil {
		return false
	}
	_, err := conn.Read(make([]byte, 1))
	return err == nil
}
