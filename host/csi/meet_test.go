package csi

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"

	"nodal/node"
)

// fake is a driver in this process.
type fake struct {
	csiapi.UnimplementedIdentityServer
	csiapi.UnimplementedNodeServer
	name   string
	info   *csiapi.NodeGetInfoResponse // nil never answers
	able   []csiapi.NodeServiceCapability_RPC_Type
	usage  []*csiapi.VolumeUsage // of a volume
	called []string
	fails  map[string]error
	do     func(call, path string) // what a call does

	stagedBy, publishedBy map[string]string // how the volume is attached
	expandedBy            *csiapi.NodeExpandVolumeRequest
}

func (f *fake) GetPluginInfo(context.Context, *csiapi.GetPluginInfoRequest) (*csiapi.GetPluginInfoResponse, error) {
	return &csiapi.GetPluginInfoResponse{Name: f.name, VendorVersion: "2"}, nil
}

func (f *fake) NodeGetInfo(ctx context.Context, _ *csiapi.NodeGetInfoRequest) (*csiapi.NodeGetInfoResponse, error) {
	if f.info == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return f.info, nil
}

func (f *fake) NodeGetCapabilities(context.Context, *csiapi.NodeGetCapabilitiesRequest) (*csiapi.NodeGetCapabilitiesResponse, error) {
	answer := &csiapi.NodeGetCapabilitiesResponse{}
	for _, kind := range f.able {
		answer.Capabilities = append(answer.Capabilities, &csiapi.NodeServiceCapability{
			Type: &csiapi.NodeServiceCapability_Rpc{Rpc: &csiapi.NodeServiceCapability_RPC{Type: kind}},
		})
	}
	return answer, nil
}

// serve starts a driver, and returns the path of its socket, which is short, as it has to be.
func serve(t *testing.T, f *fake) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "csi")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	at := filepath.Join(dir, "csi.sock")
	socket, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	csiapi.RegisterIdentityServer(server, f)
	csiapi.RegisterNodeServer(server, f)
	go func() { _ = server.Serve(socket) }() // it ends with the test
	t.Cleanup(server.Stop)
	return at
}

func TestADriverIsAskedWhatItCanDo(t *testing.T) {
	at := serve(t, &fake{
		name: "disk", info: &csiapi.NodeGetInfoResponse{
			NodeId: "n1", MaxVolumesPerNode: 3, AccessibleTopology: &csiapi.Topology{Segments: map[string]string{"rack": "r"}},
		},
		able: []csiapi.NodeServiceCapability_RPC_Type{1, 6, 1, 0, 99},
	})
	got, err := Meet(t.Context(), node.PluginInfo{Name: "disk", Endpoint: at, Versions: []string{"v0.3", "1.2.0"}})
	if err != nil {
		t.Fatal(err)
	}
	want := &node.CSIDriver{
		Version: "2", Node: "n1", MostVolumes: 3, Topology: map[string]string{"rack": "r"},
		Capabilities: []string{"STAGE_UNSTAGE_VOLUME", "VOLUME_MOUNT_GROUP"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if !got.Can(node.StagesVolumes) || got.Can(node.TellsWriters) || (*node.CSIDriver)(nil).Can(node.StagesVolumes) {
		t.Errorf("%+v can stage volumes, and nothing else that is asked here", got)
	}
}

func TestADriverThatCannotBeUsedIsNotRegistered(t *testing.T) {
	fine, long := &csiapi.NodeGetInfoResponse{NodeId: "n1"}, strings.Repeat("x", 300)
	for _, c := range []struct {
		name     string
		driver   *fake
		versions []string
		want     string
	}{
		{"another version", &fake{name: "disk", info: fine}, []string{"0.3.0", "2.0.0"}, "is supported"},
		{"another name", &fake{name: "other", info: fine}, []string{"1.0.0"}, `its name is "other"`},
		{"no node", &fake{name: "disk", info: &csiapi.NodeGetInfoResponse{}}, []string{"1.0.0"}, "no name for this node"},
		{"a long node", &fake{name: "disk", info: &csiapi.NodeGetInfoResponse{NodeId: long}}, []string{"1.0.0"}, "256 bytes"},
		{"more than a message may hold", &fake{name: "disk", info: &csiapi.NodeGetInfoResponse{NodeId: strings.Repeat(long, 10_000)}}, []string{"1.0.0"}, "ResourceExhausted"},
		{"less than no volumes", &fake{name: "disk", info: &csiapi.NodeGetInfoResponse{NodeId: "n", MaxVolumesPerNode: -1}}, []string{"1.0.0"}, "-1 volumes"},
		{"one that hangs", &fake{name: "disk"}, []string{"1.0.0"}, "NodeGetInfo: rpc error: code = DeadlineExceeded desc = "},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			got, err := Meet(ctx, node.PluginInfo{Name: "disk", Endpoint: serve(t, c.driver), Versions: c.versions})
			if err == nil || got != nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 2000 {
				t.Errorf("got %+v, %v, want %q", got, err, c.want)
			}
		})
	}
	if _, err := Meet(t.Context(), node.PluginInfo{Name: "disk", Endpoint: "csi.sock", Versions: []string{"1.0.0"}}); err == nil || !strings.Contains(err.Error(), "not the path") {
		t.Errorf("a path that is not absolute: %v", err)
	}
}
