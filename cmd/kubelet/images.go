package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"nodal/host/cri"
	"nodal/host/image"
	"nodal/host/image/credential"
	"nodal/host/registry"
	"nodal/node"
	"nodal/reconciler"
	"nodal/reconciler/gc"
	"nodal/server"
)

// imagePuller is the part of a runtime that deals with images.
type imagePuller interface {
	ListImages(context.Context) ([]node.LocalImage, error)
	Image(ctx context.Context, ref string) (*node.LocalImage, error)
	Pull(ctx context.Context, ref string, as *node.Credential) (node.LocalImage, error)
	CountPulled(ctx context.Context, pulls []node.Pull) error
}

// images are what the runtime has, and what the node's own registry has for it.
type images struct {
	runtime  imagePuller
	pods     *image.Puller
	unused   *reconciler.Collector
	endpoint string
	store    *registry.Store // nil: the runtime is not the agent's, and does not ask here
	log      *slog.Logger
}

func (a *agent) images() *images {
	i := &images{runtime: a.runtime, pods: a.puller, unused: a.collector, endpoint: a.cfg.Runtime.Endpoint, log: a.log}
	if a.own != nil {
		i.store = a.own.Images()
	}
	return i
}

// credentialFiles is where every kubelet looks for what its pods may pull with.
func credentialFiles(root string) credential.Files {
	files := credential.Files{Root: root, Dir: ".", Home: "/root"}
	if home, err := os.UserHomeDir(); err == nil {
		files.Home = home
	}
	return files
}

var (
	_ imagePuller   = (*cri.Runtime)(nil)
	_ server.Images = (*images)(nil)

	_ reconciler.LocalImages = forgetful{}
)

func (i *images) List(ctx context.Context) ([]node.LocalImage, error) {
	return i.runtime.ListImages(ctx)
}

// countPatience is how long a list of pulls waits for the runtime's count.
const countPatience = 5 * time.Second

// Pulls are without bytes where the runtime does not tell: how far a pull has come
// is worth no failure.
func (i *images) Pulls(ctx context.Context) []node.Pull {
	pulls := i.pods.Pulls()
	ctx, cancel := context.WithTimeout(ctx, countPatience)
	defer cancel()
	if err := i.runtime.CountPulled(ctx, pulls); err != nil && !errors.Is(err, node.ErrUnsupported) {
		i.log.Debug("how far pulls have come is not known", "err", err)
	}
	return pulls
}

func (i *images) PrunePlan(ctx context.Context) ([]node.ImageRemoval, error) {
	return i.unused.PrunePlan(ctx)
}

func (i *images) Prune(ctx context.Context) ([]node.ImageRemoval, error) {
	return i.unused.Prune(ctx)
}

// Remove has the runtime give an image up first, which knows whether it is in use,
// and then the node's registry: left there, the next pull would bring it back.
func (i *images) Remove(ctx context.Context, image string) (node.LocalImage, error) {
	found, err := i.runtime.Image(ctx, image)
	if err != nil {
		return node.LocalImage{}, err
	}
	var gone node.LocalImage
	if found != nil {
		if gone, err = i.unused.Remove(ctx, found.ID); err != nil {
			return node.LocalImage{}, err
		}
	}
	if i.store != nil {
		kept, err := i.store.Remove(cmp.Or(gone.ID, image))
		if err != nil {
			return node.LocalImage{}, err
		}
		if found == nil {
			gone.References = kept
		}
	}
	if len(gone.ID)+len(gone.References) == 0 {
		return node.LocalImage{}, fmt.Errorf("it is not here: %w", node.ErrNotFound)
	}
	return gone, nil
}

// newPuller pulls images as the configuration asks for.
func (a *agent) newPuller() (*image.Puller, error) {
	c := a.cfg.Images
	var plugins *credential.Plugins
	if c.ProviderConfig != "" {
		var err error
		if plugins, err = credential.LoadPlugins(c.ProviderConfig, c.ProviderPrograms); err != nil {
			return nil, err
		}
	}
	return image.New(image.Config{
		Runtime: a.runtime, Parallel: c.Parallel, PerSecond: c.PerSecond, Burst: c.Burst,
		Object: a.state.store.Object, Files: credentialFiles(a.cfg.Dirs.Root), Plugins: plugins,
		Verify: image.Verification{Policy: c.Verify, Allow: c.Allow, Dir: a.cfg.Dirs.ImageRecords()},
		Log:    a.log, Tell: a.state.events.Add,
	}), nil
}

// forgetful gives up an image with what was noted of it.
type forgetful struct {
	*cri.Runtime
	puller *image.Puller
}

func (f forgetful) RemoveImage(ctx context.Context, id string) error {
	if err := f.Runtime.RemoveImage(ctx, id); err != nil {
		return err
	}
	return f.puller.Removed(id)
}

// newCollector gives up images as the configuration asks for.
func (a *agent) newCollector() *reconciler.Collector {
	c := a.cfg.Images
	return &reconciler.Collector{
		Store: a.state.store, Images: forgetful{a.runtime, a.puller}, Events: a.state.events, Log: a.log, Clock: time.Now,
		Policy:    gc.Policy{High: c.HighPercent, Low: c.LowPercent, MinAge: c.MinAge, MaxAge: c.MaxAge},
		Collected: func(cause node.RemovalCause) { a.counts.Collected(string(cause)) },
	}
}

// Import keeps a tarball's images in the node's registry and has the runtime pull
// them from there. Kept they stay: the runtime can have them again after it gave
// them up to make room.
func (i *images) Import(
	ctx context.Context, tarball io.Reader, name string, tell func(node.ImportProgress),
) ([]node.ImportedImage, error) {
	if i.store == nil {
		return nil, fmt.Errorf("the runtime at %s is not the agent's own and does not ask it for images; import with the runtime's tool, "+
			"such as ctr -n k8s.io images import FILE: %w", i.endpoint, node.ErrConflict)
	}
	var read int64
	kept, err := i.store.Import(ctx, tarball, registry.Options{Name: name, Progress: func(n int64) {
		read = n
		tell(node.ImportProgress{Read: n})
	}})
	if err != nil {
		return nil, err
	}
	for _, image := range kept {
		tell(node.ImportProgress{Read: read, Reference: image.Reference})
		if err := i.pull(ctx, image); err != nil {
			return nil, fmt.Errorf("image %s is kept, but not ready for pods: %w", image.Reference, err)
		}
	}
	return kept, nil
}

// pull makes sure that what the runtime took is what was imported, and not what
// the reference means to another registry.
func (i *images) pull(ctx context.Context, image node.ImportedImage) error {
	pulled, err := i.runtime.Pull(ctx, image.Reference, nil)
	if err != nil {
		return err
	}
	if id := pulled.ID; id != image.ID && id != image.Digest {
		return fmt.Errorf("the runtime took another image, %s instead of %s: its configuration of registries does not lead to this node: %w",
			id, image.ID, node.ErrConflict)
	}
	return nil
}
