package dra

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"
	draapi "k8s.io/kubelet/pkg/apis/dra/v1"
	drabeta "k8s.io/kubelet/pkg/apis/dra/v1beta1"

	"nodal/node"
)

// fake is a driver in this process.
type fake struct {
	draapi.UnimplementedDRAPluginServer
	prepared   map[string]*draapi.NodePrepareResourceResponse
	unprepared map[string]*draapi.NodeUnprepareResourceResponse
	fails      error
	asked      []string
}

func (f *fake) note(call string, claims []*draapi.Claim) error {
	for _, c := range claims {
		f.asked = append(f.asked, call+" "+c.GetNamespace()+"/"+c.GetName()+"/"+c.GetUid())
	}
	return f.fails
}

func (f *fake) NodePrepareResources(_ context.Context, r *draapi.NodePrepareResourcesRequest) (*draapi.NodePrepareResourcesResponse, error) {
	return &draapi.NodePrepareResourcesResponse{Claims: f.prepared}, f.note("prepare", r.GetClaims())
}

func (f *fake) NodeUnprepareResources(_ context.Context, r *draapi.NodeUnprepareResourcesRequest) (*draapi.NodeUnprepareResourcesResponse, error) {
	return &draapi.NodeUnprepareResourcesResponse{Claims: f.unprepared}, f.note("unprepare", r.GetClaims())
}

// older is a driver of the former version.
type older struct {
	drabeta.UnimplementedDRAPluginServer
}

func (older) NodePrepareResources(_ context.Context, r *drabeta.NodePrepareResourcesRequest) (*drabeta.NodePrepareResourcesResponse, error) {
	return &drabeta.NodePrepareResourcesResponse{Claims: map[string]*drabeta.NodePrepareResourceResponse{r.GetClaims()[0].GetUid(): {
		Devices: []*drabeta.Device{{RequestNames: []string{"one"}, PoolName: "p", DeviceName: "d", CdiDeviceIds: []string{"a.b/c=d"}}},
	}}}, nil
}

// newDrivers returns a node with one driver, which serves on a socket.
func newDrivers(t *testing.T, version string, register func(*grpc.Server)) *Drivers {
	t.Helper()
	dir, err := os.MkdirTemp("", "dra")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "dra.sock"))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	register(server)
	go func() { _ = server.Serve(l) }() // it ends with the test
	t.Cleanup(server.Stop)
	return New(Config{RegistryDir: dir, Driver: func(name string) (node.Plugin, bool) {
		return node.Plugin{Socket: node.PluginSocket{Name: "dra.sock"}, Info: node.PluginInfo{Name: name, Versions: []string{version}}}, name == "tool"
	}})
}

func serving(t *testing.T, f *fake) *Drivers {
	t.Helper()
	return newDrivers(t, "v1.DRAPlugin", func(s *grpc.Server) { draapi.RegisterDRAPluginServer(s, f) })
}

func refs(names ...string) (claims []node.ClaimRef) {
	for _, name := range names {
		claims = append(claims, node.ClaimRef{Namespace: "default", Name: name, UID: types.UID("u-" + name)})
	}
	return claims
}

func TestADriverPreparesSeveralClaimsInOneCall(t *testing.T) {
	f := &fake{prepared: map[string]*draapi.NodePrepareResourceResponse{
		"u-a": {Devices: []*draapi.Device{{RequestNames: []string{"one"}, PoolName: "p", DeviceName: "d", CdiDeviceIds: []string{"a.b/c=d"}}}},
		"u-b": {Error: "no such\nthing"},
	}}
	d := serving(t, f)
	got, err := d.Prepare(t.Context(), "tool", refs("a", "b"))
	want := map[types.UID][]node.PreparedDevice{"u-a": {{Requests: []string{"one"}, Pool: "p", Device: "d", CDI: []string{"a.b/c=d"}}}}
	if !reflect.DeepEqual(got, want) || err == nil || err.Error() != "NodePrepareResources failed for ResourceClaim b: no such thing" {
		t.Errorf("got %v, %v; want %v and why b failed", got, err, want)
	}
	if want := []string{"prepare default/a/u-a", "prepare default/b/u-b"}; !reflect.DeepEqual(f.asked, want) {
		t.Errorf("the driver was asked %q, want %q", f.asked, want)
	}
}

func TestADriverOfTheFormerVersionIsAskedInIt(t *testing.T) {
	d := newDrivers(t, "v1beta1.DRAPlugin", func(s *grpc.Server) { drabeta.RegisterDRAPluginServer(s, older{}) })
	got, err := d.Prepare(t.Context(), "tool", refs("a"))
	want := map[types.UID][]node.PreparedDevice{"u-a": {{Requests: []string{"one"}, Pool: "p", Device: "d", CDI: []string{"a.b/c=d"}}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestAnswersThatNoDriverGivesAreRefused(t *testing.T) {
	device := func(d *draapi.Device) map[string]*draapi.NodePrepareResourceResponse {
		return map[string]*draapi.NodePrepareResourceResponse{"u-a": {Devices: []*draapi.Device{d}}}
	}
	for _, c := range []struct {
		name  string
		said  map[string]*draapi.NodePrepareResourceResponse
		fault string
	}{
		{"nothing", nil, "NodePrepareResources skipped 1 ResourceClaims"},
		{"another claim", map[string]*draapi.NodePrepareResourceResponse{"u-z": {}}, "result for unknown claim UID u-z"},
		{"no name of CDI", device(&draapi.Device{CdiDeviceIds: []string{"c=d"}}), `"c=d" is no name of a CDI device`},
		{"a long name", device(&draapi.Device{PoolName: strings.Repeat("x", 300)}), "a name of more than 253 bytes"},
		{"many devices", map[string]*draapi.NodePrepareResourceResponse{"u-a": {Devices: make([]*draapi.Device, 300)}}, "more than 256 devices"},
		{"many names", device(&draapi.Device{RequestNames: make([]string, 300)}), "more than 256 names"},
	} {
		for i := range c.said["u-a"].GetDevices() {
			if c.said["u-a"].Devices[i] == nil {
				c.said["u-a"].Devices[i] = &draapi.Device{}
			}
		}
		got, err := serving(t, &fake{prepared: c.said}).Prepare(t.Context(), "tool", refs("a"))
		if len(got) > 0 || err == nil || !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: got %v, %v; want %q", c.name, got, err, c.fault)
		}
	}
}

func TestDevicesThatTheRuntimeWouldIgnoreAreRefused(t *testing.T) {
	d := serving(t, &fake{prepared: map[string]*draapi.NodePrepareResourceResponse{
		"u-a": {Devices: []*draapi.Device{{CdiDeviceIds: []string{"a.b/c=d"}}}}, "u-b": {Devices: []*draapi.Device{{DeviceName: "d"}}},
	}})
	d.Ignored = func(context.Context) (bool, error) { return true, nil }
	got, err := d.Prepare(t.Context(), "tool", refs("a", "b"))
	if _, ok := got["u-b"]; len(got) != 1 || !ok || err == nil || !strings.Contains(err.Error(), "the container runtime ignores CDI") {
		t.Errorf("got %v, %v; want the claim without CDI devices alone", got, err)
	}
}

func TestADriverTakesClaimsBack(t *testing.T) {
	for _, c := range []struct {
		name  string
		said  map[string]*draapi.NodeUnprepareResourceResponse
		fails error
		fault string
	}{
		{"all of them", map[string]*draapi.NodeUnprepareResourceResponse{"u-a": {}}, nil, "<nil>"},
		{"none", nil, nil, "NodeUnprepareResources skipped ResourceClaim a"},
		{"one that fails", map[string]*draapi.NodeUnprepareResourceResponse{"u-a": {Error: "busy"}}, nil, "NodeUnprepareResources failed for ResourceClaim a: busy"},
		{"a call that fails", nil, errors.New("gone"), "NodeUnprepareResources: rpc error: code = Unknown desc = gone"},
	} {
		err := serving(t, &fake{unprepared: c.said, fails: c.fails}).Unprepare(t.Context(), "tool", refs("a"))
		if got := fmt.Sprint(err); got != c.fault {
			t.Errorf("%s: got %s, want %s", c.name, got, c.fault)
		}
	}
	if err := serving(t, &fake{}).Unprepare(t.Context(), "other", refs("a")); fmt.Sprint(err) != "DRA driver other is not registered" {
		t.Errorf("a driver that is away: %v", err)
	}
}

func TestPodsThatShareAClaimAskOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New(Config{})
		first, err := d.Hold(t.Context(), "tool", refs("a", "b"))
		if err != nil {
			t.Fatal(err)
		}
		for name, claims := range map[string][]node.ClaimRef{"other": refs("a"), "tool": refs("c")} {
			release, err := d.Hold(t.Context(), name, claims)
			if err != nil {
				t.Fatalf("another claim or driver: %v", err)
			}
			release()
		}
		if _, err := d.Hold(t.Context(), "tool", refs("a")); err == nil || !strings.Contains(err.Error(), "has not answered for another pod yet") {
			t.Errorf("after %s: %v, want why", callDeadline, err)
		}
		held := make(chan func())
		go func() {
			release, err := d.Hold(t.Context(), "tool", refs("b", "c"))
			if err != nil {
				t.Error(err)
			}
			held <- release
		}()
		synctest.Wait()
		go func() {
			time.Sleep(time.Second)
			first()
		}()
		if release, err := d.Hold(t.Context(), "tool", refs("a")); err != nil {
			t.Errorf("once it is free: %v", err)
		} else {
			release()
		}
		select {
		case release := <-held:
			if release != nil {
				release()
			}
		case <-time.After(time.Minute):
			t.Error("the other pod still waits")
		}
		if len(d.busy) != 0 {
			t.Errorf("%v are held still", d.busy)
		}
	})
}

func TestDriversSayWhatTheyServe(t *testing.T) {
	for _, c := range []struct {
		name  string
		info  node.PluginInfo
		fault string
	}{
		{"both versions", node.PluginInfo{Name: "tool", Endpoint: "/dra.sock", Versions: []string{"v1beta1.DRAPlugin", "v1.DRAPlugin"}}, ""},
		{"the former one", node.PluginInfo{Name: "tool", Versions: []string{"v1beta1.DRAPlugin"}}, ""},
		{"none that is known", node.PluginInfo{Name: "tool", Versions: []string{"1.0.0"}}, `none of services supported by the plugin (["1.0.0"])`},
		{"no path", node.PluginInfo{Name: "tool", Endpoint: "dra.sock", Versions: []string{"v1.DRAPlugin"}}, "is not the path of a socket"},
	} {
		if err := Check(c.info); c.fault == "" && err != nil || c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.fault)
		}
	}
}
