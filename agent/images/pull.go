package images

import (
	"log/slog"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/agent/config"
	"nodal/agent/state"
	"nodal/host/image"
	"nodal/host/image/credential"
	"nodal/host/registry"
	"nodal/reconciler/gc"
)

// Config holds the settings and the parts of the node that images need.
type Config struct {
	Settings config.Images
	Policy   func() gc.Policy // by which images are removed
	Dirs     config.Dirs
	State    *state.State
	Counts   Counts
	Log      *slog.Logger
}

// Counts counts for metrics.
type Counts interface {
	// Collected counts an image that the policy removed.
	Collected(cause string)
	// Pulled counts a pull that has succeeded.
	Pulled(bytes int64, waited time.Duration)
	// AskedImage counts an image that a pod needs.
	AskedImage(policy corev1.PullPolicy, present, pull string)
	// HasPlugins notes which configuration of credential providers is in force.
	HasPlugins(hash string)
	// AskedPlugin counts a run of a credential provider.
	AskedPlugin(name string, took time.Duration, err error)
}

// Shelf returns the images of the runtime at an endpoint. store holds those of the node's registry; nil if the
// runtime does not pull from there.
func (c Config) Shelf(runtime interface {
	Runtime
	image.Runtime
	gc.LocalImages
}, endpoint string, store *registry.Store) (*Shelf, error) {
	puller, err := c.puller(runtime)
	if err != nil {
		return nil, err
	}
	return &Shelf{
		Runtime: runtime, Endpoint: endpoint, Puller: puller, Collector: c.collector(runtime, puller), Store: store,
		Log: c.Log,
	}, nil
}

// puller returns the puller of images for pods by the settings.
func (c Config) puller(runtime image.Runtime) (*image.Puller, error) {
	settings := c.Settings
	var plugins *credential.Plugins
	if settings.ProviderConfig != "" {
		var err error
		if plugins, err = credential.LoadPlugins(settings.ProviderConfig, settings.ProviderPrograms); err != nil {
			return nil, err
		}
		plugins.Ran = c.Counts.AskedPlugin
		c.Counts.HasPlugins(plugins.Hash)
	}
	return image.New(image.Config{
		Runtime: runtime, Parallel: settings.Parallel, PerSecond: settings.PerSecond, Burst: settings.Burst,
		Object: c.State.Store.Object, Files: credentialFiles(c.Dirs.Root), Plugins: plugins,
		Verify: image.Verification{Policy: settings.Verify, Allow: settings.Allow, Dir: c.Dirs.ImageRecords()},
		Log:    c.Log, Tell: c.State.Events.Add, Pulled: c.Counts.Pulled, Asked: c.Counts.AskedImage,
	}), nil
}

// credentialFiles returns the places where every kubelet looks for credentials of registries.
func credentialFiles(root string) credential.Files {
	files := credential.Files{Root: root, Dir: ".", Home: "/root"}
	if home, err := os.UserHomeDir(); err == nil {
		files.Home = home
	}
	return files
}
