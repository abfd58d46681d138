// Command csidriver is a CSI driver for tests. Its volumes are directories below its directory of state, file systems
// in memory, or devices that it is told of; it stages and publishes them by mounts. It makes them by name, and takes those
// too that it has not made. It registers with the node as drivers do, and writes down what it is asked.
//
// Files in its directory of state tell it what to do while it runs:
//
//	fail     the calls that fail, one a line, such as NodeStageVolume, or NodeStageVolume:VOLUME for one volume
//	hang     the calls that never end
//	late     the calls that fail after they have had their effect
//	calls    what it was asked, a line each: the call, the volume, and what it was told; the driver writes it
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

type driver struct {
	csiapi.UnimplementedNodeServer
	csiapi.UnimplementedIdentityServer
	registerapi.UnimplementedRegistrationServer
	name, socket, state string
	able                []string

	mu sync.Mutex // of the file of calls
}

func main() {
	d := &driver{}
	var registry, able string
	flag.StringVar(&d.name, "name", "disk.nodal.test", "the name of the driver")
	flag.StringVar(&registry, "registry", "/var/lib/kubelet/plugins_registry", "the directory in which it registers")
	flag.StringVar(&d.socket, "socket", "csi.sock", "the path of its own socket")
	flag.StringVar(&d.state, "state", ".", "its directory of state")
	flag.StringVar(&able, "able", "STAGE_UNSTAGE_VOLUME", "what its node service can do, by comma")
	flag.Parse()
	d.able = strings.Split(able, ",")
	own := grpc.NewServer()
	csiapi.RegisterIdentityServer(own, d)
	csiapi.RegisterNodeServer(own, d)
	csiapi.RegisterControllerServer(own, controller{driver: d})
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
	return &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: d.name, Endpoint: d.socket, SupportedVersions: []string{"1.0.0"}}, nil
}

// NotifyRegistrationStatus notes whether the node takes the driver.
func (d *driver) NotifyRegistrationStatus(
	_ context.Context, s *registerapi.RegistrationStatus,
) (*registerapi.RegistrationStatusResponse, error) {
	return &registerapi.RegistrationStatusResponse{}, d.write("Registered", fmt.Sprint(s.GetPluginRegistered()), s.GetError())
}

// GetPluginInfo says the driver's name.
func (d *driver) GetPluginInfo(ctx context.Context, _ *csiapi.GetPluginInfoRequest) (*csiapi.GetPluginInfoResponse, error) {
	return &csiapi.GetPluginInfoResponse{Name: d.name, VendorVersion: "0.1"}, d.asked(ctx, "GetPluginInfo", "")
}

// NodeGetInfo says what the driver calls this node.
func (d *driver) NodeGetInfo(ctx context.Context, _ *csiapi.NodeGetInfoRequest) (*csiapi.NodeGetInfoResponse, error) {
	return &csiapi.NodeGetInfoResponse{
		NodeId: "this-node", MaxVolumesPerNode: 7,
		AccessibleTopology: &csiapi.Topology{Segments: map[string]string{"nodal.test/rack": "r1"}},
	}, d.asked(ctx, "NodeGetInfo", "")
}

// NodeGetCapabilities says what the driver can do.
func (d *driver) NodeGetCapabilities(
	ctx context.Context, _ *csiapi.NodeGetCapabilitiesRequest,
) (*csiapi.NodeGetCapabilitiesResponse, error) {
	answer := &csiapi.NodeGetCapabilitiesResponse{}
	for _, name := range d.able {
		kind := csiapi.NodeServiceCapability_RPC_Type(csiapi.NodeServiceCapability_RPC_Type_value[name])
		answer.Capabilities = append(answer.Capabilities, &csiapi.NodeServiceCapability{
			Type: &csiapi.NodeServiceCapability_Rpc{Rpc: &csiapi.NodeServiceCapability_RPC{Type: kind}},
		})
	}
	return answer, d.asked(ctx, "NodeGetCapabilities", "")
}

// NodeStageVolume mounts a volume for the node.
func (d *driver) NodeStageVolume(ctx context.Context, r *csiapi.NodeStageVolumeRequest) (*csiapi.NodeStageVolumeResponse, error) {
	if err := has(r.GetVolumeId() != "", r.GetStagingTargetPath() != "", r.GetVolumeCapability() != nil); err != nil {
		return nil, err
	}
	do := func() error {
		if c := r.GetVolumeContext(); c["medium"] == "memory" {
			return inMemory(r.GetStagingTargetPath(), c["size"])
		}
		return d.bind(r.GetVolumeId(), r.GetStagingTargetPath())
	}
	return &csiapi.NodeStageVolumeResponse{}, d.does(ctx, "NodeStageVolume", r.GetVolumeId(), do,
		told(r.GetVolumeCapability(), r.GetVolumeContext(), r.GetPublishContext(), r.GetSecrets())...)
}

// NodeUnstageVolume takes a volume from the node.
func (d *driver) NodeUnstageVolume(ctx context.Context, r *csiapi.NodeUnstageVolumeRequest) (*csiapi.NodeUnstageVolumeResponse, error) {
	if err := has(r.GetVolumeId() != "", r.GetStagingTargetPath() != ""); err != nil {
		return nil, err
	}
	do := func() error { return unmount(r.GetStagingTargetPath()) }
	return &csiapi.NodeUnstageVolumeResponse{}, d.does(ctx, "NodeUnstageVolume", r.GetVolumeId(), do)
}

// NodePublishVolume mounts a volume for a pod.
func (d *driver) NodePublishVolume(ctx context.Context, r *csiapi.NodePublishVolumeRequest) (*csiapi.NodePublishVolumeResponse, error) {
	if err := has(r.GetVolumeId() != "", r.GetTargetPath() != "", r.GetVolumeCapability() != nil); err != nil {
		return nil, err
	}
	do := func() error {
		if r.GetVolumeCapability().GetBlock() != nil {
			return device(r.GetVolumeContext()["device"], r.GetTargetPath())
		}
		if err := os.MkdirAll(r.GetTargetPath(), 0o750); err != nil {
			return err
		}
		if r.GetStagingTargetPath() == "" {
			if err := d.bind(r.GetVolumeId(), r.GetTargetPath()); err != nil {
				return err
			}
		} else if err := mount(r.GetStagingTargetPath(), r.GetTargetPath(), "", unix.MS_BIND); err != nil {
			return err
		}
		if r.GetReadonly() {
			return unix.Mount("", r.GetTargetPath(), "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
		}
		return nil
	}
	more := told(r.GetVolumeCapability(), r.GetVolumeContext(), r.GetPublishContext(), r.GetSecrets())
	if r.GetReadonly() {
		more = append(more, "readonly")
	}
	return &csiapi.NodePublishVolumeResponse{}, d.does(ctx, "NodePublishVolume", r.GetVolumeId(), do, more...)
}

// NodeUnpublishVolume takes a volume from a pod.
func (d *driver) NodeUnpublishVolume(
	ctx context.Context, r *csiapi.NodeUnpublishVolumeRequest,
) (*csiapi.NodeUnpublishVolumeResponse, error) {
	if err := has(r.GetVolumeId() != "", r.GetTargetPath() != ""); err != nil {
		return nil, err
	}
	do := func() error {
		if err := unmount(r.GetTargetPath()); err != nil {
			return err
		}
		if err := os.Remove(r.GetTargetPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	return &csiapi.NodeUnpublishVolumeResponse{}, d.does(ctx, "NodeUnpublishVolume", r.GetVolumeId(), do)
}

// NodeGetVolumeStats says how full a volume is.
func (d *driver) NodeGetVolumeStats(
	ctx context.Context, r *csiapi.NodeGetVolumeStatsRequest,
) (*csiapi.NodeGetVolumeStatsResponse, error) {
	if err := has(r.GetVolumeId() != "", r.GetVolumePath() != ""); err != nil {
		return nil, err
	}
	answer := &csiapi.NodeGetVolumeStatsResponse{}
	do := func() error {
		var s unix.Statfs_t
		if err := unix.Statfs(r.GetVolumePath(), &s); err != nil {
			return err
		}
		answer.Usage = []*csiapi.VolumeUsage{
			{Unit: csiapi.VolumeUsage_BYTES, Total: 1 << 30, Available: 1<<30 - 5000, Used: 5000},
			{Unit: csiapi.VolumeUsage_INODES, Total: int64(s.Files), Available: int64(s.Ffree), Used: int64(s.Files - s.Ffree)},
		}
		return nil
	}
	return answer, d.does(ctx, "NodeGetVolumeStats", r.GetVolumeId(), do)
}

// NodeExpandVolume makes a file system in memory larger. All its mounts show that. A directory has no size.
func (d *driver) NodeExpandVolume(
	ctx context.Context, r *csiapi.NodeExpandVolumeRequest,
) (*csiapi.NodeExpandVolumeResponse, error) {
	if err := has(r.GetVolumeId() != "", r.GetVolumePath() != ""); err != nil {
		return nil, err
	}
	size := r.GetCapacityRange().GetRequiredBytes()
	do := func() error {
		var s unix.Statfs_t
		if err := unix.Statfs(r.GetVolumePath(), &s); err != nil || s.Type != unix.TMPFS_MAGIC {
			return err
		}
		at := cmp.Or(r.GetStagingTargetPath(), r.GetVolumePath()) // the other may be read-only
		return unix.Mount("", at, "", unix.MS_REMOUNT, fmt.Sprintf("size=%d", size))
	}
	more := append(told(r.GetVolumeCapability(), nil, nil, r.GetSecrets()), fmt.Sprintf("size=%d", size), "at="+r.GetVolumePath())
	return &csiapi.NodeExpandVolumeResponse{CapacityBytes: size}, d.does(ctx, "NodeExpandVolume", r.GetVolumeId(), do, more...)
}

// told says what a call brings besides the volume.
func told(c *csiapi.VolumeCapability, attributes, attached, secrets map[string]string) []string {
	words := []string{"mode=" + c.GetAccessMode().GetMode().String()}
	if c.GetBlock() != nil {
		words = append(words, "block")
	} else {
		words = append(words, "fs="+c.GetMount().GetFsType(),
			"flags="+strings.Join(c.GetMount().GetMountFlags(), "+"), "group="+c.GetMount().GetVolumeMountGroup())
	}
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		words = append(words, key+"="+attributes[key])
	}
	for _, key := range slices.Sorted(maps.Keys(attached)) {
		words = append(words, "attached:"+key+"="+attached[key])
	}
	for _, key := range slices.Sorted(maps.Keys(secrets)) {
		words = append(words, "secret:"+key+"="+secrets[key])
	}
	return words
}

// inMemory mounts a file system in memory, of a size as the kernel reads it.
func inMemory(at, size string) error {
	if there, err := mounted(at); there || err != nil {
		return err
	}
	options := ""
	if size != "" {
		options = "size=" + size
	}
	return unix.Mount("tmpfs", at, "tmpfs", 0, options)
}

// device mounts a device at a file.
func device(from, at string) error {
	f, err := os.OpenFile(at, os.O_CREATE, 0o640)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), mount(from, at, "", unix.MS_BIND))
}

// bind mounts the directory of a volume.
func (d *driver) bind(volume, at string) error {
	from := filepath.Join(d.state, "volumes", volume)
	if err := os.MkdirAll(from, 0o755); err != nil {
		return err
	}
	return mount(from, at, "", unix.MS_BIND)
}

// mount mounts once, however often it is called.
func mount(from, at, kind string, flags uintptr) error {
	there, err := mounted(at)
	if there || err != nil {
		return err
	}
	return unix.Mount(from, at, kind, flags, "")
}

func unmount(at string) error {
	for {
		there, err := mounted(at)
		if errors.Is(err, unix.ENOENT) || err == nil && !there {
			return nil
		}
		if err != nil {
			return err
		}
		if err := unix.Unmount(at, 0); err != nil {
			return err
		}
	}
}

func mounted(at string) (bool, error) {
	var stat unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, at, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_TYPE, &stat)
	return stat.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0, err
}

// has refuses a call that lacks something.
func has(all ...bool) error {
	if slices.Contains(all, false) {
		return grpcstatus.Error(codes.InvalidArgument, "the request lacks something")
	}
	return nil
}

// does carries a call out, between what the files of the directory of state ask for.
func (d *driver) does(ctx context.Context, call, volume string, do func() error, more ...string) error {
	if err := d.asked(ctx, call, volume, more...); err != nil {
		return err
	}
	switch err := do(); {
	case err == nil:
	case grpcstatus.Code(err) != codes.Unknown:
		return err
	case errors.Is(err, unix.ENOENT):
		return grpcstatus.Error(codes.NotFound, err.Error())
	default:
		return grpcstatus.Error(codes.Internal, err.Error())
	}
	if slices.Contains(d.lines("late"), call) {
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

// asked writes a call down, and has it fail or hang if it shall.
func (d *driver) asked(ctx context.Context, call, volume string, more ...string) error {
	err := d.write(slices.Concat([]string{call, volume}, more)...)
	shall := func(file string) bool {
		lines := d.lines(file)
		return slices.Contains(lines, call) || slices.Contains(lines, call+":"+volume)
	}
	switch {
	case err != nil:
		return err
	case shall("hang"):
		<-ctx.Done()
		return ctx.Err()
	case shall("fail"):
		return grpcstatus.Error(codes.Internal, call+" fails as it shall")
	}
	return nil
}
