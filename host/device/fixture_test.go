package device

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	deviceapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"nodal/node"
	"nodal/node/store"
)

const gpu corev1.ResourceName = "example.com/gpu"

// peer is a plugin on a socket.
type peer struct {
	deviceapi.UnimplementedDevicePluginServer
	server *grpc.Server

	lists    chan []*deviceapi.Device // each is sent as it comes; closing it ends the stream
	left     chan struct{}            // gets one for each stream that has ended
	prefer   func(context.Context, *deviceapi.ContainerPreferredAllocationRequest) (*deviceapi.PreferredAllocationResponse, error)
	options  func(context.Context) (*deviceapi.DevicePluginOptions, error)
	allocate func(context.Context, []string) (*deviceapi.AllocateResponse, error)

	mu      sync.Mutex
	started []string // the devices of each PreStartContainer
}

func (p *peer) GetDevicePluginOptions(ctx context.Context, _ *deviceapi.Empty) (*deviceapi.DevicePluginOptions, error) {
	if p.options != nil {
		return p.options(ctx)
	}
	return &deviceapi.DevicePluginOptions{PreStartRequired: true, GetPreferredAllocationAvailable: p.prefer != nil}, nil
}

func (p *peer) ListAndWatch(_ *deviceapi.Empty, stream deviceapi.DevicePlugin_ListAndWatchServer) error {
	defer func() { p.left <- struct{}{} }()
	for {
		select {
		case list, ok := <-p.lists:
			if !ok {
				return nil
			}
			if err := stream.Send(&deviceapi.ListAndWatchResponse{Devices: list}); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return nil
		}
	}
}

func (p *peer) GetPreferredAllocation(
	ctx context.Context, asked *deviceapi.PreferredAllocationRequest,
) (*deviceapi.PreferredAllocationResponse, error) {
	return p.prefer(ctx, asked.GetContainerRequests()[0])
}

func (p *peer) Allocate(ctx context.Context, asked *deviceapi.AllocateRequest) (*deviceapi.AllocateResponse, error) {
	return p.allocate(ctx, asked.GetContainerRequests()[0].GetDevicesIds())
}

func (p *peer) PreStartContainer(_ context.Context, asked *deviceapi.PreStartContainerRequest) (*deviceapi.PreStartContainerResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = append(p.started, strings.Join(asked.GetDevicesIds(), "+"))
	return &deviceapi.PreStartContainerResponse{}, nil
}

// device is one in the words of a test: "a", "b!" for an unhealthy one, "c@0" for one near to a NUMA node.
func device(word string) *deviceapi.Device {
	word, place, placed := strings.Cut(word, "@")
	id, sick := strings.CutSuffix(word, "!")
	d := &deviceapi.Device{ID: id, Health: deviceapi.Healthy}
	if sick {
		d.Health = deviceapi.Unhealthy
	}
	if placed {
		d.Topology = &deviceapi.TopologyInfo{}
		for _, digit := range place {
			d.Topology.Nodes = append(d.Topology.Nodes, &deviceapi.NUMANode{ID: int64(digit - '0')})
		}
	}
	return d
}

func devices(words ...string) (list []*deviceapi.Device) {
	for _, word := range words {
		list = append(list, device(word))
	}
	return list
}

// bench is the node's side in a directory of its own. The path is short, as those of sockets have to be.
type bench struct {
	*Plugins
	t    *testing.T
	stop func() // stops serving
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := os.MkdirTemp("", "devices")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p, err := Open(Config{
		Dir: dir, RegistryDir: filepath.Join(dir, "registry"), Registry: store.NewPlugins(), Board: store.NewDevices(),
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(p.RegistryDir, 0o750); err != nil {
		t.Fatal(err)
	}
	b := &bench{Plugins: p, t: t}
	b.run()
	return b
}

// run serves until the test ends. It returns once the socket is there.
func (b *bench) run() {
	at := filepath.Join(b.Dir, socketName)
	_ = os.Remove(at) // of an agent before
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		b.Run(ctx)
		close(done)
	}()
	b.stop = func() {
		cancel()
		<-done
	}
	b.t.Cleanup(b.stop)
	b.wait("the node's socket", func() bool {
		_, err := os.Lstat(at)
		return err == nil
	})
}

// wait waits until something holds.
func (b *bench) wait(what string, holds func() bool) {
	b.t.Helper()
	for began := time.Now(); !holds(); time.Sleep(time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			b.t.Fatalf("waited for %s", what)
		}
	}
}

// serve starts a plugin at a socket of the directory, and lists its first devices.
func (b *bench) serve(socket string, first ...*deviceapi.Device) *peer {
	b.t.Helper()
	l, err := net.Listen("unix", filepath.Join(b.Dir, socket))
	if err != nil {
		b.t.Fatal(err)
	}
	p := &peer{server: grpc.NewServer(), lists: make(chan []*deviceapi.Device, 10), left: make(chan struct{}, 100)}
	p.lists <- first
	deviceapi.RegisterDevicePluginServer(p.server, p)
	go func() { _ = p.server.Serve(l) }() // it ends with the test
	b.t.Cleanup(p.server.Stop)
	return p
}

// register asks the node to use a plugin, as the plugin does.
func (b *bench) register(r *deviceapi.RegisterRequest) error {
	b.t.Helper()
	conn, err := grpc.NewClient("unix://"+filepath.Join(b.Dir, socketName), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(b.t.Context(), 30*time.Second)
	defer cancel()
	_, err = deviceapi.NewRegistrationClient(conn).Register(ctx, r, grpc.WaitForReady(true))
	return err
}

func (b *bench) use(socket string) {
	b.t.Helper()
	if err := b.register(&deviceapi.RegisterRequest{Version: deviceapi.Version, Endpoint: socket, ResourceName: string(gpu)}); err != nil {
		b.t.Fatal(err)
	}
}

// until waits for the board to show the devices of the resource, in the words of a test.
func (b *bench) until(want string) {
	b.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		changed := b.Board.Changed()
		got := words(b.Board.Resource(gpu))
		if got == want {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			b.t.Fatalf("the board shows %q, want %q", got, want)
		}
	}
}

func words(r node.DeviceResource) string {
	var list []string
	for _, d := range r.Offered(time.Now()) {
		word := d.ID
		if !d.Healthy {
			word += "!"
		}
		if len(d.Nodes) > 0 {
			word += "@" + strings.Trim(strings.ReplaceAll(fmt.Sprint(d.Nodes), " ", ""), "[]")
		}
		list = append(list, word)
	}
	return strings.Join(list, " ")
}
