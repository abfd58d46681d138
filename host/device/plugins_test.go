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
	"nodal/node/assign"
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

func TestAPluginListsItsDevices(t *testing.T) {
	b := newBench(t)
	p := b.serve("gpu.sock", devices("b@1", "a@10", "c!")...)
	b.use("gpu.sock")
	b.until("a@01 b@1 c!")
	p.lists <- devices("a", "c", "d")
	b.until("a c d")
	p.lists <- nil
	b.until("")
	if r := b.Board.Resource(gpu); r.Plugin != "gpu.sock" || !r.PreStart || !r.Lost.IsZero() || r.Fault != "" {
		t.Errorf("the board shows %+v", r)
	}
}

func TestAPluginThatGoesAwayTakesItsDevicesAlong(t *testing.T) {
	b := newBench(t)
	p := b.serve("gpu.sock", devices("a", "b")...)
	b.use("gpu.sock")
	b.until("a b")
	p.server.Stop()
	b.until("a! b!")
	r := b.Board.Resource(gpu)
	if r.Lost.IsZero() || r.Fault == "" {
		t.Errorf("the board shows %+v", r)
	}
	if got := r.Offered(r.Lost.Add(5*time.Minute + time.Second)); len(got) != 0 {
		t.Errorf("after five minutes it still counts %v", got)
	}
	if _, err := b.Allocate(t.Context(), gpu, []string{"a"}); err == nil || !strings.Contains(err.Error(), "is not there") {
		t.Errorf("a plugin that is away allocates: %v", err)
	}
	b.serve("again.sock", devices("a", "b")...)
	b.use("again.sock")
	b.until("a b")
}

func TestAStreamThatEndsIsAPluginThatGoes(t *testing.T) {
	b := newBench(t)
	p := b.serve("gpu.sock", devices("a")...)
	b.use("gpu.sock")
	b.until("a")
	close(p.lists)
	b.until("a!")
}

func TestTheNewestPluginOfAResourceIsUsed(t *testing.T) {
	b := newBench(t)
	former := b.serve("gpu.sock", devices("a")...)
	b.use("gpu.sock")
	b.until("a")
	b.serve("other.sock", devices("x")...)
	b.use("other.sock")
	b.until("x")
	former.server.Stop()
	former.lists <- devices("a")
	time.Sleep(200 * time.Millisecond)
	b.until("x")
}

func TestWhatNoPluginAsksForIsRefused(t *testing.T) {
	b := newBench(t)
	b.serve("gpu.sock")
	for _, c := range []struct {
		name     string
		version  string
		resource string
		endpoint string
		want     string
	}{
		{"another version", "v1", string(gpu), "gpu.sock", "is not supported by kubelet"},
		{"a resource of Kubernetes' own", deviceapi.Version, "kubernetes.io/gpu", "gpu.sock", "ResourceName"},
		{"one without a domain", deviceapi.Version, "cpu", "gpu.sock", "ResourceName"},
		{"one of a quota", deviceapi.Version, "requests.example.com/gpu", "gpu.sock", "ResourceName"},
		{"no resource", deviceapi.Version, "", "gpu.sock", "ResourceName"},
		{"a long one", deviceapi.Version, "example.com/" + strings.Repeat("x", 10000), "gpu.sock", "ResourceName"},
		{"a path", deviceapi.Version, string(gpu), "../gpu.sock", "not the name of a socket"},
		{"an absolute path", deviceapi.Version, string(gpu), "/run/gpu.sock", "not the name of a socket"},
		{"no socket", deviceapi.Version, string(gpu), "", "not the name of a socket"},
		{"the node's own socket", deviceapi.Version, string(gpu), "kubelet.sock", "not the name of a socket"},
	} {
		err := b.register(&deviceapi.RegisterRequest{Version: c.version, ResourceName: c.resource, Endpoint: c.endpoint})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if got := b.Board.List(); len(got) != 0 {
		t.Errorf("the board shows %+v", got)
	}
}

func TestAPluginThatFailsItsOptionsIsNotUsed(t *testing.T) {
	b := newBench(t)
	p := b.serve("gpu.sock", devices("a")...)
	p.options = func(context.Context) (*deviceapi.DevicePluginOptions, error) { return nil, fmt.Errorf("broken") }
	err := b.register(&deviceapi.RegisterRequest{Version: deviceapi.Version, Endpoint: "gpu.sock", ResourceName: string(gpu)})
	if err == nil || !strings.Contains(err.Error(), "broken") || len(b.Board.List()) != 0 {
		t.Errorf("got %v, and the board shows %+v", err, b.Board.List())
	}
}

func TestALinkIsNotFollowed(t *testing.T) {
	b := newBench(t)
	outside := newBench(t)
	outside.serve("gpu.sock", devices("a")...)
	if err := os.Symlink(filepath.Join(outside.Dir, "gpu.sock"), filepath.Join(b.Dir, "gpu.sock")); err != nil {
		t.Fatal(err)
	}
	if conn, err := connect(t.Context(), b.Dir, "gpu.sock"); err == nil {
		conn.Close()
		t.Error("a link is followed")
	}
}

func TestListsOfUntrustedPlugins(t *testing.T) {
	b := newBench(t)
	p := b.serve("gpu.sock", devices("a", "a!", "", "b", "b", strings.Repeat("x", 600))...)
	b.use("gpu.sock")
	b.until("a! b")
	var thousand []*deviceapi.Device
	for i := range 1000 {
		thousand = append(thousand, device(fmt.Sprintf("gpu%04d@%d", i, i%2)))
	}
	began := time.Now()
	p.lists <- thousand
	b.wait("a thousand devices", func() bool { return len(b.Board.Resource(gpu).Devices) == 1000 })
	t.Logf("a thousand devices took %v", time.Since(began))
	p.lists <- devices(strings.Repeat("y", mostMessage))
	b.wait("a plugin that lists too much to be let go", func() bool { return !b.Board.Resource(gpu).Lost.IsZero() })
	if fault := b.Board.Resource(gpu).Fault; !strings.Contains(fault, "ResourceExhausted") {
		t.Errorf("the board says %q", fault)
	}
}

func TestAnswersOfUntrustedPlugins(t *testing.T) {
	one := func(c *deviceapi.ContainerAllocateResponse) *deviceapi.AllocateResponse {
		return &deviceapi.AllocateResponse{ContainerResponses: []*deviceapi.ContainerAllocateResponse{c}}
	}
	b := newBench(t)
	p := b.serve("gpu.sock", devices("a")...)
	b.use("gpu.sock")
	for _, c := range []struct {
		name   string
		answer *deviceapi.AllocateResponse
		want   string // part of the error; empty for none
	}{
		{"all of it", one(&deviceapi.ContainerAllocateResponse{
			Envs: map[string]string{"GPU": "a"}, Annotations: map[string]string{"x": "y"},
			Mounts:     []*deviceapi.Mount{{HostPath: "/opt", ContainerPath: "/driver", ReadOnly: true}},
			Devices:    []*deviceapi.DeviceSpec{{HostPath: "/dev/null", ContainerPath: "/dev/gpu", Permissions: "rw"}},
			CdiDevices: []*deviceapi.CDIDevice{{Name: "example.com/gpu=a"}},
		}), ""},
		{"nothing", one(&deviceapi.ContainerAllocateResponse{}), ""},
		{"no container", &deviceapi.AllocateResponse{}, "it answers for 0 containers"},
		{"two containers", &deviceapi.AllocateResponse{ContainerResponses: make([]*deviceapi.ContainerAllocateResponse, 2)}, ""},
		{"a relative mount", one(&deviceapi.ContainerAllocateResponse{Mounts: []*deviceapi.Mount{{HostPath: "opt", ContainerPath: "/x"}}}), "no absolute path"},
		{"a device at no path", one(&deviceapi.ContainerAllocateResponse{Devices: []*deviceapi.DeviceSpec{{HostPath: "/dev/null", Permissions: "r"}}}), "no absolute path"},
		{"other permissions", one(&deviceapi.ContainerAllocateResponse{
			Devices: []*deviceapi.DeviceSpec{{HostPath: "/dev/null", ContainerPath: "/dev/x", Permissions: "rx"}},
		}), "none of r, w and m"},
		{"a variable without a name", one(&deviceapi.ContainerAllocateResponse{Envs: map[string]string{"": "x"}}), "no process can have"},
		{"a CDI device without a kind", one(&deviceapi.ContainerAllocateResponse{CdiDevices: []*deviceapi.CDIDevice{{Name: "gpu"}}}), "vendor/class=name"},
		{"ten megabytes", one(&deviceapi.ContainerAllocateResponse{Envs: map[string]string{"X": strings.Repeat("x", 10<<20)}}), "ResourceExhausted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.allocate = func(_ context.Context, ids []string) (*deviceapi.AllocateResponse, error) {
				if len(ids) != 1 || ids[0] != "a" {
					return nil, fmt.Errorf("asked for %q", ids)
				}
				return c.answer, nil
			}
			grant, err := b.Allocate(t.Context(), gpu, []string{"a"})
			switch {
			case c.name == "two containers":
				if err == nil {
					t.Errorf("got %+v", grant)
				}
			case c.want == "" && (err != nil || len(grant.PreStart) != 1):
				t.Errorf("got %+v, %v", grant, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %+v, %v; want %q", grant, err, c.want)
			}
			if c.name == "all of it" && (grant.Env["GPU"] != "a" || grant.Nodes[0].Host != "/dev/null" || !grant.Mounts[0].ReadOnly || grant.CDI[0] != "example.com/gpu=a") {
				t.Errorf("got %+v", grant)
			}
		})
	}
	p.allocate = func(ctx context.Context, _ []string) (*deviceapi.AllocateResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := b.Allocate(ctx, gpu, []string{"a"}); err == nil || !strings.Contains(err.Error(), "DeadlineExceeded") {
		t.Errorf("a plugin that never answers: %v", err)
	}
	if err := b.PreStart(t.Context(), gpu, []string{"a"}); err != nil || len(p.started) != 1 || p.started[0] != "a" {
		t.Errorf("before a start: %v, and it heard of %q", err, p.started)
	}
}

func TestANewAgentHasPluginsRegisterAgain(t *testing.T) {
	b := newBench(t)
	b.serve("gpu.sock", devices("a")...)
	b.use("gpu.sock")
	b.until("a")
	kept := filepath.Join(b.Dir, "kubelet_internal_checkpoint")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.stop()
	next := &bench{Plugins: &Plugins{Config: b.Config, links: map[corev1.ResourceName]*link{}}, t: t}
	next.Board = store.NewDevices()
	names, err := Known(b.Dir)
	if err != nil || len(names) != 1 || names[0] != gpu {
		t.Errorf("the next agent knows of %q, %v", names, err)
	}
	for _, name := range names {
		next.Board.Remembered(name, time.Now())
	}
	if r := next.Board.Resource(gpu); r.Lost.IsZero() || len(r.Offered(time.Now())) != 0 {
		t.Errorf("before its plugin has registered the board shows %+v", r)
	}
	next.run()
	if _, err := os.Lstat(filepath.Join(b.Dir, "gpu.sock")); err == nil {
		t.Error("the socket of the plugin stays, so it does not register again")
	}
	if _, err := os.Lstat(kept); err != nil {
		t.Errorf("a file that is no socket goes: %v", err)
	}
	next.serve("gpu.sock", devices("a")...)
	next.use("gpu.sock")
	next.until("a")
	next.Board.Lost(gpu, "away", time.Now())
	if err := next.remember(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if names, err := Known(b.Dir); err != nil || len(names) != 0 {
		t.Errorf("long after its plugin went the file has %q, %v", names, err)
	}
}

func TestWishesOfAPlugin(t *testing.T) {
	b := newBench(t)
	mute := b.serve("mute.sock", devices("a", "b")...)
	b.use("mute.sock")
	b.until("a b")
	if b.Prefers(gpu) {
		t.Error("a plugin that does not offer it is asked which devices it prefers")
	}
	mute.server.Stop()
	p := b.serve("gpu.sock", devices("a", "b", "c")...)
	asked := make(chan *deviceapi.ContainerPreferredAllocationRequest, 10)
	answer, err := &deviceapi.PreferredAllocationResponse{}, error(nil)
	hangs := false
	p.prefer = func(ctx context.Context, r *deviceapi.ContainerPreferredAllocationRequest) (*deviceapi.PreferredAllocationResponse, error) {
		asked <- r
		if hangs {
			<-ctx.Done()
		}
		return answer, err
	}
	b.use("gpu.sock")
	b.until("a b c")
	choice := assign.Choice{Container: "main", Resource: gpu, Available: []string{"a", "b", "c"}, Must: []string{"c"}, Size: 2}
	if !b.Prefers(gpu) {
		t.Error("a plugin that offers it is not asked which devices it prefers")
	}
	if _, err := b.Prefer(t.Context(), choice); err == nil || !strings.Contains(err.Error(), "it answers for 0 containers") {
		t.Errorf("an answer for no container: %v", err)
	}
	if r := <-asked; strings.Join(r.GetAvailableDeviceIDs(), "+") != "a+b+c" || strings.Join(r.GetMustIncludeDeviceIDs(), "+") != "c" || r.GetAllocationSize() != 2 {
		t.Errorf("the plugin was asked %v", r)
	}
	answer.ContainerResponses = []*deviceapi.ContainerPreferredAllocationResponse{{DeviceIDs: []string{"c", "b"}}}
	if got, err := b.Prefer(t.Context(), choice); err != nil || strings.Join(got, "+") != "c+b" {
		t.Errorf("got %q, %v", got, err)
	}
	err = fmt.Errorf("broken")
	if _, err := b.Prefer(t.Context(), choice); err == nil || !strings.Contains(err.Error(), "broken") || !b.Prefers(gpu) {
		t.Errorf("a plugin that fails: %v, and it is asked again: %t", err, b.Prefers(gpu))
	}
	hangs = true
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := b.Prefer(ctx, choice); err == nil || b.Prefers(gpu) {
		t.Errorf("a plugin that does not answer: %v, and it is asked again: %t", err, b.Prefers(gpu))
	}
}
