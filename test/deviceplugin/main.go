// Command deviceplugin is a plugin of devices for tests. It offers devices that are all the machine's /dev/null, and
// gives a container with each one a device file, variables, a mount and an annotation. It writes down what it is asked.
//
// Files in its directory of state tell it what to do while it runs:
//
//	sick    the devices that are unhealthy, one a line
//	fail    the calls that fail, one a line: options, prefer, allocate, prestart
//	hang    the calls that never end
//	wish    the devices that it prefers, one a line; the last ones if there is no such file
//	calls   what it was asked, a line each; the plugin writes it
//
// It registers again when the node's socket is made again or its own is removed, as plugins have to. With -registry it
// waits in that directory until the node finds it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	deviceapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// often is the time between two looks at the files.
const often = 100 * time.Millisecond

type plugin struct {
	deviceapi.UnimplementedDevicePluginServer
	registerapi.UnimplementedRegistrationServer

	dir, socket, resource, state string
	registry, cdi                string
	ids                          []string
	numa                         bool
	preStart, prefers            bool

	mu sync.Mutex // of the file of calls
}

func main() {
	p := &plugin{}
	var ids string
	flag.StringVar(&p.dir, "dir", deviceapi.DevicePluginPath, "the node's directory of device plugins")
	flag.StringVar(&p.socket, "socket", "test.sock", "the name of the plugin's socket")
	flag.StringVar(&p.registry, "registry", "", "the node's plugin registry, if it registers there instead")
	flag.StringVar(&p.cdi, "cdi", "", "a kind of CDI: it names the device of that kind for each one")
	flag.StringVar(&p.resource, "resource", "nodal.test/gadget", "the resource that it offers")
	flag.StringVar(&p.state, "state", ".", "its directory of state")
	flag.StringVar(&ids, "devices", "g0,g1", "the devices, by comma")
	flag.BoolVar(&p.numa, "numa", false, "all devices are near to NUMA node 0")
	flag.BoolVar(&p.preStart, "prestart", false, "it wants to be asked before each start of a container")
	flag.BoolVar(&p.prefers, "prefer", false, "it wants to choose devices itself")
	flag.Parse()
	p.ids = strings.Split(ids, ",")
	if p.registry != "" {
		log.Fatal(p.wait())
	}
	for {
		if err := p.run(); err != nil {
			log.Print(err)
		}
		time.Sleep(often)
	}
}

// run serves until one of the sockets is made again or is gone.
func (p *plugin) run() error {
	at := filepath.Join(p.dir, p.socket)
	if err := os.Remove(at); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	kubelet, err := os.Stat(filepath.Join(p.dir, "kubelet.sock"))
	if err != nil {
		return err
	}
	l, err := net.Listen("unix", at)
	if err != nil {
		return err
	}
	own, err := os.Stat(at)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	deviceapi.RegisterDevicePluginServer(server, p)
	go func() { _ = server.Serve(l) }() // it ends when it is stopped
	defer server.Stop()
	if err := p.register(); err != nil {
		return err
	}
	for same(at, own) && same(filepath.Join(p.dir, "kubelet.sock"), kubelet) {
		time.Sleep(often)
	}
	return nil
}

// wait serves in the registry, where the node finds the plugin.
func (p *plugin) wait() error {
	at := filepath.Join(p.registry, p.socket)
	if err := os.Remove(at); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	l, err := net.Listen("unix", at)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	deviceapi.RegisterDevicePluginServer(server, p)
	registerapi.RegisterRegistrationServer(server, p)
	return server.Serve(l)
}

// GetInfo says who the plugin is.
func (p *plugin) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{Type: registerapi.DevicePlugin, Name: p.resource, SupportedVersions: []string{deviceapi.Version}}, nil
}

// NotifyRegistrationStatus notes what the node says.
func (p *plugin) NotifyRegistrationStatus(
	ctx context.Context, s *registerapi.RegistrationStatus,
) (*registerapi.RegistrationStatusResponse, error) {
	return &registerapi.RegistrationStatusResponse{}, p.asked(ctx, "registered", []string{fmt.Sprint(s.GetPluginRegistered()), s.GetError()})
}

func same(path string, as os.FileInfo) bool {
	now, err := os.Stat(path)
	return err == nil && os.SameFile(now, as) && now.ModTime().Equal(as.ModTime())
}

// register tells the node of the plugin.
func (p *plugin) register() error {
	conn, err := grpc.NewClient("unix://"+filepath.Join(p.dir, "kubelet.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err = deviceapi.NewRegistrationClient(conn).Register(ctx, &deviceapi.RegisterRequest{
		Version: deviceapi.Version, Endpoint: p.socket, ResourceName: p.resource,
	})
	return err
}

// lines reads a file of the directory of state.
func (p *plugin) lines(name string) []string {
	text, _ := os.ReadFile(filepath.Join(p.state, name)) // a file that is missing has no lines
	return strings.Fields(string(text))
}

// asked writes a call down, and has it fail or hang if it shall.
func (p *plugin) asked(ctx context.Context, call string, ids []string) error {
	p.mu.Lock()
	f, err := os.OpenFile(filepath.Join(p.state, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintln(f, call, strings.Join(ids, "+"))
		err = errors.Join(err, f.Close())
	}
	p.mu.Unlock()
	switch {
	case err != nil:
		return err
	case slices.Contains(p.lines("hang"), call):
		<-ctx.Done()
		return ctx.Err()
	case slices.Contains(p.lines("fail"), call):
		return fmt.Errorf("%s fails as it shall", call)
	}
	return nil
}

// GetDevicePluginOptions returns what the plugin wants.
func (p *plugin) GetDevicePluginOptions(ctx context.Context, _ *deviceapi.Empty) (*deviceapi.DevicePluginOptions, error) {
	return &deviceapi.DevicePluginOptions{
		PreStartRequired: p.preStart, GetPreferredAllocationAvailable: p.prefers,
	}, p.asked(ctx, "options", nil)
}

// GetPreferredAllocation chooses devices.
func (p *plugin) GetPreferredAllocation(
	ctx context.Context, r *deviceapi.PreferredAllocationRequest,
) (*deviceapi.PreferredAllocationResponse, error) {
	answer := &deviceapi.PreferredAllocationResponse{}
	for _, c := range r.GetContainerRequests() {
		ids := c.GetAvailableDeviceIDs()
		if err := p.asked(ctx, "prefer", slices.Concat(ids, []string{"with"}, c.GetMustIncludeDeviceIDs())); err != nil {
			return nil, err
		}
		wish := p.lines("wish")
		if len(wish) == 0 {
			wish = ids[len(ids)-int(c.GetAllocationSize()):]
		}
		answer.ContainerResponses = append(answer.ContainerResponses, &deviceapi.ContainerPreferredAllocationResponse{DeviceIDs: wish})
	}
	return answer, nil
}

// ListAndWatch sends the devices, and again when some fall ill or recover.
func (p *plugin) ListAndWatch(_ *deviceapi.Empty, stream deviceapi.DevicePlugin_ListAndWatchServer) error {
	ticker := time.NewTicker(often)
	defer ticker.Stop()
	var sent []string
	for first := true; ; first = false {
		if sick := p.lines("sick"); first || !slices.Equal(sick, sent) {
			if err := stream.Send(&deviceapi.ListAndWatchResponse{Devices: p.devices(sick)}); err != nil {
				return err
			}
			sent = sick
		}
		select {
		case <-stream.Context().Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (p *plugin) devices(sick []string) (list []*deviceapi.Device) {
	for _, id := range p.ids {
		d := &deviceapi.Device{ID: id, Health: deviceapi.Healthy}
		if slices.Contains(sick, id) {
			d.Health = deviceapi.Unhealthy
		}
		if p.numa {
			d.Topology = &deviceapi.TopologyInfo{Nodes: []*deviceapi.NUMANode{{ID: 0}}}
		}
		list = append(list, d)
	}
	return list
}

// Allocate gives a container its devices.
func (p *plugin) Allocate(ctx context.Context, r *deviceapi.AllocateRequest) (*deviceapi.AllocateResponse, error) {
	answer := &deviceapi.AllocateResponse{}
	for _, c := range r.GetContainerRequests() {
		if err := p.asked(ctx, "allocate", c.GetDevicesIds()); err != nil {
			return nil, err
		}
		made := &deviceapi.ContainerAllocateResponse{
			Envs:        map[string]string{"GADGETS": strings.Join(c.GetDevicesIds(), "+")},
			Annotations: map[string]string{"nodal.test/gadgets": strings.Join(c.GetDevicesIds(), "+")},
			Mounts:      []*deviceapi.Mount{{HostPath: p.state, ContainerPath: "/gadgets", ReadOnly: true}},
		}
		for _, id := range c.GetDevicesIds() {
			made.Devices = append(made.Devices, &deviceapi.DeviceSpec{HostPath: "/dev/null", ContainerPath: "/dev/gadget-" + id, Permissions: "rw"})
			if p.cdi != "" {
				made.CdiDevices = append(made.CdiDevices, &deviceapi.CDIDevice{Name: p.cdi + "=" + id})
			}
		}
		answer.ContainerResponses = append(answer.ContainerResponses, made)
	}
	return answer, nil
}

// PreStartContainer notes that a container is about to start.
func (p *plugin) PreStartContainer(
	ctx context.Context, r *deviceapi.PreStartContainerRequest,
) (*deviceapi.PreStartContainerResponse, error) {
	return &deviceapi.PreStartContainerResponse{}, p.asked(ctx, "prestart", r.GetDevicesIds())
}
