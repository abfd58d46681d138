package device

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	grpcstatus "google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	deviceapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"nodal/host/outsider"
	"nodal/node"
	"nodal/node/assign"
)

// Bounds of what a plugin may send.
const (
	mostMessage   = 4 << 20 // a list of ten thousand devices has one MiB
	mostHeaders   = 8 << 10 // of one that registers
	mostWords     = 500     // of an error
	mostResources = 100
)

// pace is the time between two lists of a plugin: one that lists without end costs the node no more than that.
const pace = 50 * time.Millisecond

// link is a connection to the plugin of a resource.
type link struct {
	resource corev1.ResourceName
	preStart bool        // the plugin wants to hear of each start
	prefers  atomic.Bool // it wants to choose devices itself, and has not failed to answer in time
	conn     *grpc.ClientConn
	client   deviceapi.DevicePluginClient
	end      context.CancelFunc
	ctx      context.Context //nolint:containedctx // it lasts as long as the link
}

// dial connects to a socket of a directory, and asks the plugin there how it wants to be used.
func dial(ctx context.Context, dir, socket string) (*link, error) {
	conn, err := outsider.Dial(mostMessage, func(ctx context.Context) (net.Conn, error) { return connect(ctx, dir, socket) })
	if err != nil {
		return nil, err
	}
	l := &link{conn: conn, client: deviceapi.NewDevicePluginClient(conn)}
	l.ctx, l.end = context.WithCancel(context.Background())
	// A plugin that registers before it listens is waited for.
	options, err := l.client.GetDevicePluginOptions(ctx, &deviceapi.Empty{}, grpc.WaitForReady(true))
	if err != nil {
		l.close()
		return nil, fmt.Errorf("ask for its options: %w", bare(err))
	}
	l.preStart = options.GetPreStartRequired()
	l.prefers.Store(options.GetGetPreferredAllocationAvailable())
	return l, nil
}

// close ends the link. It may be called again.
func (l *link) close() {
	l.end()
	_ = l.conn.Close() // an error says that it was closed before
}

// watch calls listed for each list of devices, until the plugin ends it.
func (l *link) watch(listed func([]node.Device)) error {
	stream, err := l.client.ListAndWatch(l.ctx, &deviceapi.Empty{})
	if err != nil {
		return bare(err)
	}
	for {
		said, err := stream.Recv()
		if err != nil {
			return bare(err)
		}
		listed(devicesOf(said))
		timer := time.NewTimer(pace)
		select {
		case <-l.ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// allocate asks for what a container needs to have devices.
func (l *link) allocate(ctx context.Context, ids []string) (node.Grant, error) {
	answer, err := l.client.Allocate(ctx, &deviceapi.AllocateRequest{
		ContainerRequests: []*deviceapi.ContainerAllocateRequest{{DevicesIds: ids}},
	})
	if err != nil {
		return node.Grant{}, bare(err)
	}
	return grantOf(answer)
}

// prefer asks which of some devices a container shall have. A plugin that does not answer in time is not asked again.
func (l *link) prefer(ctx context.Context, c assign.Choice) ([]string, error) {
	answer, err := l.client.GetPreferredAllocation(ctx, &deviceapi.PreferredAllocationRequest{
		ContainerRequests: []*deviceapi.ContainerPreferredAllocationRequest{{
			AvailableDeviceIDs: c.Available, MustIncludeDeviceIDs: c.Must, AllocationSize: int32(c.Size),
		}},
	})
	switch {
	case err != nil && late(ctx):
		l.prefers.Store(false)
		return nil, fmt.Errorf("%w; it is not asked again until it registers", bare(err))
	case err != nil:
		return nil, bare(err)
	case len(answer.GetContainerResponses()) != 1:
		return nil, fmt.Errorf("it answers for %d containers, and was asked for one", len(answer.GetContainerResponses()))
	}
	return answer.GetContainerResponses()[0].GetDeviceIDs(), nil
}

// late reports whether the time for a call is over. A plugin may say so too, in words of its own, and its word may come
// before the call ends by itself.
func late(ctx context.Context) bool {
	deadline, bounded := ctx.Deadline()
	return bounded && !time.Now().Before(deadline)
}

// connect connects to a socket in a directory. It follows no link, and connects to the very socket that it has found.
func connect(ctx context.Context, dir, socket string) (net.Conn, error) {
	fd, err := unix.Open(filepath.Join(dir, socket), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var d net.Dialer
	return d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d", fd))
}

// bare reduces the error of a call to gRPC's code and the beginning of the plugin's message.
func bare(err error) error {
	status := grpcstatus.Convert(err)
	message := status.Message()
	if len(message) > mostWords {
		message = message[:mostWords]
	}
	return fmt.Errorf("%s: %q", status.Code(), message)
}
