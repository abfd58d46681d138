package plugin

import (
	"context"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	grpcstatus "google.golang.org/grpc/status"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"nodal/host/outsider"
	"nodal/node"
)

// Bounds of what a plugin may say.
const (
	mostMessage  = 16 << 10
	mostName     = 253
	mostPath     = 4096
	mostVersions = 16
)

// link is a connection to one plugin.
type link struct {
	conn   *grpc.ClientConn
	client registerapi.RegistrationClient
}

// dial prepares a connection to a socket. It connects with the first call.
func dial(dir string, socket node.PluginSocket) (*link, error) {
	conn, err := outsider.Dial(mostMessage, func(ctx context.Context) (net.Conn, error) { return connect(ctx, dir, socket) })
	if err != nil {
		return nil, err
	}
	return &link{conn, registerapi.NewRegistrationClient(conn)}, nil
}

// ask returns what the plugin says of itself.
func (l *link) ask(ctx context.Context) (node.PluginInfo, error) {
	said, err := l.client.GetInfo(ctx, &registerapi.InfoRequest{})
	if err != nil {
		return node.PluginInfo{}, withoutFrame(err)
	}
	info := node.PluginInfo{
		Type: said.GetType(), Name: said.GetName(), Endpoint: said.GetEndpoint(), Versions: said.GetSupportedVersions(),
	}
	return info, checkInfo(info)
}

// answer tells the plugin whether it is registered.
func (l *link) answer(ctx context.Context, a node.PluginAnswer) error {
	status := &registerapi.RegistrationStatus{PluginRegistered: a.Registered, Error: a.Reason}
	_, err := l.client.NotifyRegistrationStatus(ctx, status)
	return withoutFrame(err)
}

// hold waits until the connection breaks, or is closed.
func (l *link) hold() { l.conn.WaitForStateChange(context.Background(), connectivity.Ready) }

// checkInfo refuses an introduction without type or name, or of a size that no plugin of
// Kubernetes has.
func checkInfo(info node.PluginInfo) error {
	switch {
	case info.Type == "" || info.Name == "":
		return errors.New("it says no type or no name")
	case len(info.Type) > mostName || len(info.Name) > mostName:
		return fmt.Errorf("its type or name has more than %d bytes", mostName)
	case len(info.Endpoint) > mostPath:
		return fmt.Errorf("its endpoint has more than %d bytes", mostPath)
	case len(info.Versions) > mostVersions:
		return fmt.Errorf("it says more than %d versions", mostVersions)
	}
	for _, version := range info.Versions {
		if len(version) > mostName {
			return fmt.Errorf("one of its versions has more than %d bytes", mostName)
		}
	}
	return nil
}

// withoutFrame reduces the error of a call to gRPC's code and the plugin's message, which it
// cuts off at mostName bytes and quotes.
func withoutFrame(err error) error {
	if err == nil {
		return nil
	}
	status := grpcstatus.Convert(err)
	message := status.Message()
	if len(message) > mostName {
		message = message[:mostName]
	}
	return fmt.Errorf("%s: %q", status.Code(), message)
}
