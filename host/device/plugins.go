package device

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	deviceapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"nodal/node"
	"nodal/node/assign"
	"nodal/node/store"
)

// Deadlines of calls. A plugin may have to reset a device before a container starts.
const (
	greetDeadline    = 10 * time.Second
	preferDeadline   = 5 * time.Second // for a wish that a pod can do without
	allocateDeadline = 30 * time.Second
	preStartDeadline = deviceapi.KubeletPreStartContainerRPCTimeoutInSecs * time.Second
)

// Counts counts what plugins do.
type Counts interface {
	// DevicesRegistered counts a registration.
	DevicesRegistered(resource string)
	// DevicesAllocated counts an answer to Allocate.
	DevicesAllocated(resource string, took time.Duration)
}

// Config describes the directory of plugins, and the registry in which some register instead.
type Config struct {
	Dir         string
	RegistryDir string
	Registry    *store.Plugins
	Board       *store.Devices
	Log         *slog.Logger
	Counts      Counts
}

// Plugins are the plugins of devices.
type Plugins struct {
	Config

	mu    sync.Mutex
	links map[corev1.ResourceName]*link // the newest of each resource, as long as it stands

	writing sync.Mutex
	written []string // in the file of known resources; nil before it was written
}

// Open makes the directory, if it is not there.
func Open(c Config) (*Plugins, error) {
	if err := os.MkdirAll(c.Dir, 0o750); err != nil {
		return nil, fmt.Errorf("make the directory of device plugins: %w", err)
	}
	return &Plugins{Config: c, links: map[corev1.ResourceName]*link{}}, nil
}

// greet links up with a plugin that serves a resource at a socket of a directory. The plugin that served it before
// is let go.
func (p *Plugins) greet(ctx context.Context, resource corev1.ResourceName, dir, socket string) (*link, error) {
	if kind := p.Board.Resource(resource).CDI.Kind; kind != "" {
		return nil, fmt.Errorf("device plugin of %s at %s: the node offers CDI devices of kind %s as that resource: "+
			"give these another name with --cdi-devices, or stop the plugin", resource, socket, kind)
	}
	ctx, cancel := context.WithTimeout(ctx, greetDeadline)
	defer cancel()
	l, err := dial(ctx, dir, socket)
	if err != nil {
		return nil, fmt.Errorf("device plugin of %s at %s: %w", resource, socket, err)
	}
	l.resource = resource
	at := socket
	if dir != p.Dir {
		at = filepath.Join(dir, socket)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if former := p.links[resource]; former != nil {
		former.close()
	} else if len(p.links) >= mostResources {
		l.close()
		return nil, fmt.Errorf("device plugin of %s at %s: %d resources have plugins already", resource, socket, mostResources)
	}
	p.links[resource] = l
	if p.Counts != nil {
		p.Counts.DevicesRegistered(string(resource))
	}
	p.Board.Registered(resource, at, l.preStart, time.Now())
	if err := p.remember(time.Now()); err != nil {
		p.Log.Warn("the next agent will not know of a resource until its plugin has registered", "resource", resource, "err", err)
	}
	p.Log.Info("a device plugin has registered", "resource", resource, "socket", at)
	go func() {
		err := l.watch(func(devices []node.Device) { p.listed(l, devices) })
		p.lost(l, err)
	}()
	return l, nil
}

// listed notes the devices of a plugin, unless another has taken its place.
func (p *Plugins) listed(l *link, devices []node.Device) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.links[l.resource] == l {
		p.Board.Listed(l.resource, devices)
	}
}

// lost notes that a plugin has gone away, unless another has taken its place.
func (p *Plugins) lost(l *link, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.close()
	if p.links[l.resource] == l {
		delete(p.links, l.resource)
		p.Board.Lost(l.resource, "its list of devices has ended: "+err.Error(), time.Now())
		p.Log.Warn("a device plugin has gone away; pods keep its devices, and no other gets one", "resource", l.resource, "err", err)
	}
}

// link returns the link to the plugin of a resource.
func (p *Plugins) link(resource corev1.ResourceName) (*link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.links[resource]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("the device plugin of %s is not there", resource)
}

// Prefers reports whether the plugin of a resource wants to choose devices itself.
func (p *Plugins) Prefers(resource corev1.ResourceName) bool {
	l, err := p.link(resource)
	return err == nil && l.prefers.Load()
}

// Prefer asks the plugin of a resource which of its devices a container shall have. The answer is not checked.
func (p *Plugins) Prefer(ctx context.Context, c assign.Choice) ([]string, error) {
	l, err := p.link(c.Resource)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, preferDeadline)
	defer cancel()
	wish, err := l.prefer(ctx, c)
	if err != nil {
		err = fmt.Errorf("ask the device plugin of %s which of %q it prefers: %w", c.Resource, c.Available, err)
		p.Log.Warn("a device plugin does not choose its devices; the node does", "err", err)
	}
	return wish, err
}

// Allocate asks the plugin of a resource what a container needs to have some of its devices.
func (p *Plugins) Allocate(ctx context.Context, resource corev1.ResourceName, ids []string) (node.Grant, error) {
	l, err := p.link(resource)
	if err != nil {
		return node.Grant{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, allocateDeadline)
	defer cancel()
	began := time.Now()
	grant, err := l.allocate(ctx, ids)
	if err != nil {
		return node.Grant{}, fmt.Errorf("ask the device plugin of %s for %q: %w", resource, ids, err)
	}
	if p.Counts != nil {
		p.Counts.DevicesAllocated(string(resource), time.Since(began))
	}
	if l.preStart {
		grant.PreStart = []corev1.ResourceName{resource}
	}
	return grant, nil
}

// PreStart tells the plugin of a resource that a container with some of its devices is about to start.
func (p *Plugins) PreStart(ctx context.Context, resource corev1.ResourceName, ids []string) error {
	l, err := p.link(resource)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, preStartDeadline)
	defer cancel()
	if _, err := l.client.PreStartContainer(ctx, &deviceapi.PreStartContainerRequest{DevicesIds: ids}); err != nil {
		return fmt.Errorf("have the device plugin of %s prepare %q for a start: %w", resource, ids, bare(err))
	}
	return nil
}

// end lets all plugins go.
func (p *Plugins) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.links {
		l.close()
	}
	clear(p.links)
}
