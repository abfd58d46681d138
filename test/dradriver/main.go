// Command dradriver is a driver of devices for tests, which ResourceClaims allocate. For each claim it prepares it writes a
// CDI spec, which gives containers a variable and a device file. It registers with the node as drivers do, and writes down
// what it is asked.
//
// Files in its directory of state tell it what to do while it runs:
//
//	fail     the calls that fail, one a line, such as NodePrepareResources, or NodePrepareResources:CLAIM for one claim
//	hang     the calls that never end
//	late     the calls that fail after they have had their effect
//	calls    what it was asked, a line each: the call, and the names and UIDs of claims; the driver writes it
package main

import (
	"context"
	"encoding/json"
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

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	draapi "k8s.io/kubelet/pkg/apis/dra/v1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

type driver struct {
	draapi.UnimplementedDRAPluginServer
	registerapi.UnimplementedRegistrationServer
	name, socket, state, specs string

	mu sync.Mutex // of the file of calls
}

func main() {
	d := &driver{}
	var registry string
	flag.StringVar(&d.name, "name", "tool.nodal.test", "the name of the driver")
	flag.StringVar(&registry, "registry", "/var/lib/kubelet/plugins_registry", "the directory in which it registers")
	flag.StringVar(&d.socket, "socket", "dra.sock", "the path of its own socket")
	flag.StringVar(&d.state, "state", ".", "its directory of state")
	flag.StringVar(&d.specs, "cdi", "/var/run/cdi", "the directory of CDI specs")
	flag.Parse()
	own := grpc.NewServer()
	draapi.RegisterDRAPluginServer(own, d)
	registration := grpc.NewServer()
	registerapi.RegisterRegistrationServer(registration, d)
	ended := make(chan error, 2)
	go func() { ended <- serve(own, d.socket) }()
	go func() { ended <- serve(registration, filepath.Join(registry, d.name+"-reg.sock")) }()
	log.Fatal(<-ended)
}

func serve(server *grpc.Server, at string) error {
	if err := os.Remove(at); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	l, err := net.Listen("unix", at)
	if err != nil {
		return err
	}
	return server.Serve(l)
}

// GetInfo says where the driver is.
func (d *driver) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{
		Type: registerapi.DRAPlugin, Name: d.name, Endpoint: d.socket, SupportedVersions: []string{draapi.DRAPluginService},
	}, nil
}

// NotifyRegistrationStatus notes whether the node takes the driver.
func (d *driver) NotifyRegistrationStatus(
	_ context.Context, s *registerapi.RegistrationStatus,
) (*registerapi.RegistrationStatusResponse, error) {
	return &registerapi.RegistrationStatusResponse{}, d.write("Registered", fmt.Sprint(s.GetPluginRegistered()), s.GetError())
}

// NodePrepareResources writes a CDI spec for each claim: a device for the request "one", and one for "two".
func (d *driver) NodePrepareResources(
	ctx context.Context, r *draapi.NodePrepareResourcesRequest,
) (*draapi.NodePrepareResourcesResponse, error) {
	answer := &draapi.NodePrepareResourcesResponse{Claims: map[string]*draapi.NodePrepareResourceResponse{}}
	err := d.does(ctx, "NodePrepareResources", r.GetClaims(), func(c *draapi.Claim) error {
		one := &draapi.NodePrepareResourceResponse{}
		for _, request := range []string{"one", "two"} {
			one.Devices = append(one.Devices, &draapi.Device{
				RequestNames: []string{request}, PoolName: "pool", DeviceName: request, CdiDeviceIds: []string{d.kind() + "=" + c.GetUid() + "-" + request},
			})
		}
		answer.Claims[c.GetUid()] = one
		return d.specify(c)
	})
	return answer, err
}

// NodeUnprepareResources removes the spec of each claim.
func (d *driver) NodeUnprepareResources(
	ctx context.Context, r *draapi.NodeUnprepareResourcesRequest,
) (*draapi.NodeUnprepareResourcesResponse, error) {
	answer := &draapi.NodeUnprepareResourcesResponse{Claims: map[string]*draapi.NodeUnprepareResourceResponse{}}
	err := d.does(ctx, "NodeUnprepareResources", r.GetClaims(), func(c *draapi.Claim) error {
		answer.Claims[c.GetUid()] = &draapi.NodeUnprepareResourceResponse{}
		if err := os.Remove(d.spec(c)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	})
	return answer, err
}

func (d *driver) kind() string { return d.name + "/claim" }

func (d *driver) spec(c *draapi.Claim) string {
	return filepath.Join(d.specs, d.name+"-"+filepath.Base(c.GetUid())+".json")
}

// specify writes the CDI spec of a claim.
func (d *driver) specify(c *draapi.Claim) error {
	var devices []any
	for _, request := range []string{"one", "two"} {
		devices = append(devices, map[string]any{"name": c.GetUid() + "-" + request, "containerEdits": map[string]any{
			"env":         []string{"CLAIM_" + strings.ToUpper(request) + "=" + c.GetName()},
			"deviceNodes": []any{map[string]string{"path": "/dev/tool-" + request, "hostPath": "/dev/null"}},
		}})
	}
	text, err := json.Marshal(map[string]any{"cdiVersion": "0.5.0", "kind": d.kind(), "devices": devices})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(d.specs, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(d.spec(c)+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(d.spec(c)+".new", d.spec(c))
}

// does carries a call out for each claim, between what the files of the directory of state ask for.
func (d *driver) does(ctx context.Context, call string, claims []*draapi.Claim, do func(*draapi.Claim) error) error {
	words := []string{call}
	for _, c := range claims {
		words = append(words, c.GetNamespace()+"/"+c.GetName()+"/"+c.GetUid())
	}
	if err := d.write(words...); err != nil {
		return err
	}
	shall := func(file string) bool {
		lines := d.lines(file)
		return slices.Contains(lines, call) ||
			slices.ContainsFunc(claims, func(c *draapi.Claim) bool { return slices.Contains(lines, call+":"+c.GetName()) })
	}
	switch {
	case shall("hang"):
		<-ctx.Done()
		return ctx.Err()
	case shall("fail"):
		return grpcstatus.Error(codes.Internal, call+" fails as it shall")
	}
	for _, c := range claims {
		if err := do(c); err != nil {
			return grpcstatus.Error(codes.Internal, err.Error())
		}
	}
	if shall("late") {
		return grpcstatus.Error(codes.Internal, call+" fails late, as it shall")
	}
	return nil
}

// lines reads a file of the directory of state.
func (d *driver) lines(name string) []string {
	text, _ := os.ReadFile(filepath.Join(d.state, name)) // a file that is missing has no lines
	return strings.Fields(string(text))
}

// write writes a call down.
func (d *driver) write(words ...string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(d.state, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, strings.TrimSpace(strings.Join(words, " ")))
	return errors.Join(err, f.Close())
}
