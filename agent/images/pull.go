package images

import (
	"log/slog"
	"os"

	"nodal/agent/config"
	"nodal/agent/state"
	"nodal/host/image"
	"nodal/host/image/credential"
)

// Config holds what pulling and removing images needs of the node.
type Config struct {
	Settings config.Images
	Dirs     config.Dirs
	State    *state.State
	Removed  func(cause string) // counts an image that the policy removed
	Log      *slog.Logger
}

// Puller returns what pulls images for pods as the settings ask.
func (c Config) Puller(runtime image.Runtime) (*image.Puller, error) {
	settings := c.Settings
	var plugins *credential.Plugins
	if settings.ProviderConfig != "" {
		var err error
		if plugins, err = credential.LoadPlugins(settings.ProviderConfig, settings.ProviderPrograms); err != nil {
			return nil, err
		}
	}
	return image.New(image.Config{
		Runtime: runtime, Parallel: settings.Parallel, PerSecond: settings.PerSecond, Burst: settings.Burst,
		Object: c.State.Store.Object, Files: credentialFiles(c.Dirs.Root), Plugins: plugins,
		Verify: image.Verification{Policy: settings.Verify, Allow: settings.Allow, Dir: c.Dirs.ImageRecords()},
		Log:    c.Log, Tell: c.State.Events.Add,
	}), nil
}

// credentialFiles returns the places where every kubelet looks for credentials to pull with.
func credentialFiles(root string) credential.Files {
	files := credential.Files{Root: root, Dir: ".", Home: "/root"}
	if home, err := os.UserHomeDir(); err == nil {
		files.Home = home
	}
	return files
}
