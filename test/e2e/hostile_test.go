package e2e

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/host/thread"
	"nodal/test/agent"
	"nodal/test/chance"
	"nodal/test/claim"
	"nodal/test/hostile"
	"nodal/test/pace"
)

const (
	// resident bounds what strangers make the agent keep in memory, beside what it has when idle.
	resident = 32 << 20
	// proven bounds it for a known caller, which may have 32 MiB of messages on their way. Go's collector lets garbage
	// grow as large as what is used.
	proven = 128 << 20
	// besieged bounds the time that an attack has to reach its height, and that is spent there.
	besieged = 20 * time.Second
)

func TestStrangersTakeNoMemory(t *testing.T) {
	claim.Shows(t, "Access", "clients without a credential make the agent keep less than 32 MiB, whatever they send, and an admin is answered meanwhile")
	n := start(t)
	n.besiege(hostile.Peer{Target: netip.MustParseAddrPort(n.secure()), Dial: new(net.Dialer).DialContext})
}

func TestAPodTakesNoMemory(t *testing.T) {
	claim.Shows(t, "Access", "a pod without a credential makes the agent keep less than 32 MiB, whatever it sends")
	n := prepare(t, func(c *agent.Config) { c.Flags = append(c.Flags, "--address", "0.0.0.0") })
	n.up()
	n.apply(web("hostile").yaml())
	n.waitRunning("hostile")
	pid := n.pidOf("hostile", "main")
	gateway := gatewayOf(t, pid)
	pods, err := gateway.Prefix(24)
	if err != nil {
		t.Fatal(err)
	}
	n.besiege(hostile.Peer{Target: netip.AddrPortFrom(gateway, uint16(n.Ports.Secure)), Dial: dialIn(pid), Pods: pods})
}

func TestAViewerTakesNoMemory(t *testing.T) {
	claim.Shows(t, "Access", "a caller that may only read makes the agent keep less than 128 MiB, whatever it sends and does not finish")
	n := start(t)
	peer := hostile.Peer{Target: netip.MustParseAddrPort(n.secure()), Dial: new(net.Dialer).DialContext}
	n.besiegeBy(peer, proven, hostile.Proven(n.token("viewer")))
}

// gatewayOf returns the address at which a process finds the machine.
func gatewayOf(t *testing.T, pid int) netip.Addr {
	t.Helper()
	routes, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/route", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(routes)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[1] != "00000000" {
			continue
		}
		address, err := strconv.ParseUint(fields[2], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		return netip.AddrFrom4([4]byte(binary.NativeEndian.AppendUint32(nil, uint32(address))))
	}
	t.Fatalf("the process has no default route:\n%s", routes)
	return netip.Addr{}
}

// dialIn dials from within the network of a process.
func dialIn(pid int) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		err = thread.Own(func() error {
			conn, err = enterAndDial(ctx, pid, network, address)
			return err
		})
		return conn, err
	}
}

func enterAndDial(ctx context.Context, pid int, network, address string) (net.Conn, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("enter the network of process %d: %w", pid, err)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// besiege lets every attack act in turn.
func (n *node) besiege(p hostile.Peer) { n.besiegeBy(p, resident, hostile.All()) }

func (n *node) besiegeBy(p hostile.Peer, most int64, attacks []hostile.Attack) {
	n.t.Helper()
	idle := n.residentBytes()
	repeated := time.Duration(chance.Few(500, 2000)) * time.Millisecond // what an attack leaves behind adds up
	for _, attack := range attacks {
		var took []time.Duration
		for begun := time.Now(); len(took) == 0 || time.Since(begun) < repeated; {
			took = append(took, n.askDuring(func(ctx context.Context) { n.besiegeOnce(ctx, p, attack, idle, most) })...)
		}
		slices.Sort(took)
		n.t.Logf("%-36s %d answers to an admin, nine of ten within %v", "", len(took), took[len(took)*9/10].Round(time.Millisecond))
	}
}

func (n *node) besiegeOnce(ctx context.Context, p hostile.Peer, attack hostile.Attack, idle, most int64) {
	n.t.Helper()
	siege, err := p.Besiege(ctx, attack)
	if err != nil {
		n.t.Fatal(err)
	}
	height, alive := n.height(ctx, siege)
	siege.Raise()
	n.t.Logf("%-36s idle %3d MiB, at the height %3d MiB, %4d connections alive, afterwards %3d MiB",
		attack.Name, idle>>20, height>>20, alive, n.residentBytes()>>20)
	if height > idle+most {
		n.t.Errorf("%s: the agent has %d MiB at the height and %d MiB when idle, want at most %d MiB more",
			attack.Name, height>>20, idle>>20, most>>20)
	}
}

// height returns the most memory that the agent has during a siege.
func (n *node) height(ctx context.Context, siege *hostile.Siege) (bytes int64, alive int) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, pace.Of(besieged))
	defer cancel()
	acted := make(chan struct{})
	go func() {
		defer close(acted)
		siege.AwaitHeight(ctx)
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			bytes, alive = max(bytes, n.residentBytes()), max(alive, siege.Alive())
		case <-acted:
			return max(bytes, n.residentBytes()), max(alive, siege.Alive())
		}
	}
}

// askDuring asks for the node, as an admin with a token, over and over while act runs. Each question
// has a connection of its own: one that is known already would show less.
func (n *node) askDuring(act func(context.Context)) (took []time.Duration) {
	n.t.Helper()
	ctx, cancel := context.WithCancel(n.t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			begun := time.Now()
			if err := n.askOnce(); err != nil {
				n.t.Errorf("an admin asks during a siege: %v", err)
			}
			took = append(took, time.Since(begun))
			<-tick.C
		}
	}()
	act(ctx)
	cancel()
	<-done
	return took
}

// askOnce makes a connection and a call on it.
func (n *node) askOnce() error {
	creds, err := credentials.NewClientTLSFromFile(n.CA(), "")
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient("passthrough:"+n.secure(), grpc.WithTransportCredentials(creds), grpc.WithPerRPCCredentials(token(n.token("admin"))))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), pace.Of(patience))
	defer cancel()
	_, err = nodev1.NewNodeServiceClient(conn).GetNode(ctx, &nodev1.GetNodeRequest{})
	return err
}

// token is shown with each call.
type token string

func (t token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(t)}, nil
}

func (token) RequireTransportSecurity() bool { return true }

// residentBytes is the memory of the agent's process.
func (n *node) residentBytes() int64 {
	n.t.Helper()
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", n.Pid()))
	if err != nil {
		n.t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); fields[0] == "VmRSS:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				n.t.Fatal(err)
			}
			return kib << 10
		}
	}
	n.t.Fatal("the agent's process says nothing of its memory")
	return 0
}
