package device

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	deviceapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"nodal/node/store"
)

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
