package device

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	deviceapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"nodal/node"
)

// Kind is the type of device plugins that register in the plugin registry instead of on the node's own socket.
const Kind = "DevicePlugin"

// Check returns what is wrong with what such a plugin says of itself, or nil. Its name is that of its resource.
func (p *Plugins) Check(info node.PluginInfo) error {
	if !slices.ContainsFunc(deviceapi.SupportedVersions[:], func(v string) bool { return slices.Contains(info.Versions, v) }) {
		return fmt.Errorf("manager version, %s, is not among plugin supported versions %.300q", deviceapi.Version, info.Versions)
	}
	if !node.CanExtend(info.Name) {
		return fmt.Errorf("invalid name of device plugin socket: the ResourceName %.300q is invalid", info.Name)
	}
	_, _, err := p.endpoint(node.Plugin{Info: info})
	return err
}

// endpoint returns the directory and the name of a plugin's own socket: the one by which it registers, or another one
// in the registry, or in a directory of a plugin beside it.
func (p *Plugins) endpoint(plugin node.Plugin) (dir, name string, err error) {
	at := plugin.Info.Endpoint
	if at == "" {
		return p.RegistryDir, plugin.Socket.Name, nil
	}
	dir, name = filepath.Dir(at), filepath.Base(at)
	homes := filepath.Join(filepath.Dir(p.RegistryDir), "plugins")
	if at != filepath.Clean(at) || dir != p.RegistryDir && filepath.Dir(dir) != homes {
		return "", "", fmt.Errorf("the endpoint %.300q is not a socket in %s or in a directory of %s", at, p.RegistryDir, homes)
	}
	return dir, name, nil
}

// turn names one introduction of a plugin: what is behind a socket may have changed with the next.
type turn struct {
	socket node.PluginSocket
	number int64
}

// follow links up with the device plugins that are registered in the registry, and lets those go that are not there any
// more, until the context ends.
func (p *Plugins) follow(ctx context.Context) {
	ends := map[turn]context.CancelFunc{}
	for {
		changed := p.Registry.Changed()
		there := map[turn]bool{}
		for _, plugin := range p.Registry.List() {
			if plugin.Info.Type != Kind || !plugin.Connected || plugin.Gone || plugin.Answer == nil || !plugin.Answer.Registered {
				continue
			}
			visited := turn{plugin.Socket, plugin.Turn}
			if there[visited] = true; ends[visited] == nil {
				visiting, end := context.WithCancel(ctx)
				ends[visited] = end
				go p.keep(visiting, plugin)
			}
		}
		for visited, end := range ends {
			if !there[visited] {
				end()
				delete(ends, visited)
			}
		}
		select {
		case <-ctx.Done():
			for _, end := range ends {
				end()
			}
			return
		case <-changed:
		}
	}
}

// keep keeps a link to a plugin that is registered, until the context ends. If its list ends it is linked up with again
// after a pause, unless another plugin has its resource by then.
func (p *Plugins) keep(ctx context.Context, plugin node.Plugin) {
	resource := corev1.ResourceName(plugin.Info.Name)
	for first, fault := true, ""; ctx.Err() == nil; first = false {
		if _, err := p.link(resource); first || err != nil {
			l, err := p.visit(ctx, resource, plugin)
			if err == nil {
				fault = ""
				select {
				case <-l.ctx.Done():
				case <-ctx.Done():
					p.lost(l, errors.New("its registration has ended"))
				}
			} else if err.Error() != fault && ctx.Err() == nil {
				fault = err.Error()
				p.Log.Warn("a device plugin is not used", "err", err)
			}
		}
		timer := time.NewTimer(lookEvery)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (p *Plugins) visit(ctx context.Context, resource corev1.ResourceName, plugin node.Plugin) (*link, error) {
	dir, socket, err := p.endpoint(plugin)
	if err != nil {
		return nil, err
	}
	return p.greet(ctx, resource, dir, socket)
}
