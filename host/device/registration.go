package device

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	deviceapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"nodal/node"
)

// socketName is the node's own socket in the directory.
const socketName = "kubelet.sock"

// lookEvery is the time between looks at the node's own socket: whatever removed it, plugins have to find it.
const lookEvery = 10 * time.Second

// Run serves the socket on which plugins register, until the context ends. It removes the sockets of plugins first.
func (p *Plugins) Run(ctx context.Context) {
	defer p.end()
	var group sync.WaitGroup
	defer group.Wait()
	if p.Registry != nil {
		group.Go(func() { p.follow(ctx) })
	}
	fault := ""
	for ctx.Err() == nil {
		err := p.serve(ctx)
		if err == nil {
			fault = ""
		} else if err.Error() != fault {
			fault = err.Error()
			p.Log.Warn("device plugins cannot register", "dir", p.Dir, "err", err)
		}
		timer := time.NewTimer(time.Second)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// serve serves one socket, until it is gone.
func (p *Plugins) serve(ctx context.Context) error {
	if err := clearSockets(p.Dir); err != nil {
		return err
	}
	at := filepath.Join(p.Dir, socketName)
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: at, Net: "unix"})
	if err != nil {
		return err
	}
	socket.SetUnlinkOnClose(false) // it may be another's by then, and the next agent clears it
	mine, err := os.Lstat(at)
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	server := grpc.NewServer(
		grpc.MaxRecvMsgSize(64<<10), grpc.MaxHeaderListSize(mostHeaders), grpc.MaxConcurrentStreams(10), grpc.ConnectionTimeout(greetDeadline),
	)
	deviceapi.RegisterRegistrationServer(server, &registration{plugins: p})
	done := make(chan error, 1)
	go func() { done <- server.Serve(socket) }()
	defer server.Stop()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-done:
			return err
		case <-ticker.C:
		}
		if err := p.remember(time.Now()); err != nil {
			p.Log.Warn("cannot write which resources have device plugins", "err", err)
		}
		if now, err := os.Lstat(at); err != nil || !os.SameFile(mine, now) {
			return errors.New(at + " is gone; it is made again")
		}
	}
}

// clearSockets makes a directory, or removes the sockets in one.
func clearSockets(dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if e.Type() != fs.ModeSocket {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// registration is the service on the node's own socket.
type registration struct {
	deviceapi.UnimplementedRegistrationServer
	plugins *Plugins
}

// Register links up with a plugin. It answers once the plugin has said its options.
func (r *registration) Register(ctx context.Context, asked *deviceapi.RegisterRequest) (*deviceapi.Empty, error) {
	resource, err := checkRequest(asked)
	if err != nil {
		r.plugins.Log.Warn("a device plugin is refused", "err", err)
		return nil, grpcstatus.Error(codes.InvalidArgument, err.Error())
	}
	if _, err := r.plugins.greet(ctx, resource, r.plugins.Dir, asked.GetEndpoint()); err != nil {
		r.plugins.Log.Warn("a device plugin is not used", "err", err)
		return nil, grpcstatus.Error(codes.Unavailable, err.Error())
	}
	return &deviceapi.Empty{}, nil
}

// checkRequest returns the resource that a plugin wants to register, or what is wrong with its request.
func checkRequest(asked *deviceapi.RegisterRequest) (corev1.ResourceName, error) {
	name, socket := asked.GetResourceName(), asked.GetEndpoint()
	switch {
	case asked.GetVersion() != deviceapi.Version:
		return "", fmt.Errorf("requested API version %.100q is not supported by kubelet. Supported version is %q", asked.GetVersion(), deviceapi.SupportedVersions)
	case !node.CanExtend(name):
		return "", fmt.Errorf("the ResourceName %.300q is invalid", name)
	case socket == "" || socket != filepath.Base(socket) || strings.HasPrefix(socket, ".") || socket == socketName || len(socket) > 255:
		return "", fmt.Errorf("the endpoint %.300q of %s is not the name of a socket beside %s", socket, name, socketName)
	}
	return corev1.ResourceName(name), nil
}
