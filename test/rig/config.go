package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"golang.org/x/sys/unix"
)

// restrict_oom_score_adj: without CAP_SYS_RESOURCE no sandbox may lower its score, and each would
// fail to start. The opt plugin's path: its default is outside our directory.
var configTemplate = template.Must(template.New("config").Parse(`version = 2
root = "{{.Dir}}/root"
state = "{{.Dir}}/state"
temp = "{{.Dir}}/tmp"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.tracing.processor.v1.otlp"]

[grpc]
  address = "{{.Socket}}"

[plugins."io.containerd.internal.v1.opt"]
  path = "{{.Dir}}/opt"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{{.Pause}}"
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  restrict_oom_score_adj = {{.RestrictOOM}}
  netns_mounts_under_state_dir = true
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "{{.Dir}}/hosts"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{{.CNIBin}}"
    conf_dir = "{{.Dir}}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "{{.Snapshotter}}"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        Root = "{{.Dir}}/runc"
        SystemdCgroup = {{.SystemdCgroup}}
`))

var networkTemplate = template.Must(template.New("network").Parse(`{
  "cniVersion": "0.4.0", "name": "{{.Bridge}}",
  "plugins": [
    {"type": "bridge", "bridge": "{{.Bridge}}", "isGateway": true, "ipMasq": false, "hairpinMode": true,
     "ipam": {"type": "host-local", "dataDir": "{{.Dir}}/ipam", "ranges": [[{"subnet": "{{.Subnet}}"}]],
              "routes": [{"dst": "0.0.0.0/0"}]}},
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`))

// hostsTemplate makes containerd pull images of nodal.test from the rig's registry, so that
// manifests need not contain its port.
var hostsTemplate = template.Must(template.New("hosts").Parse(`server = "http://{{.Registry}}/v2/nodal.test"
[host."http://{{.Registry}}/v2/nodal.test"]
  capabilities = ["pull", "resolve"]
  override_path = true
`))

// writeConfig writes containerd's configuration, and that of its pods' network.
func (r *Runtime) writeConfig() error {
	for _, d := range []string{"root", "state", "tmp", "cni", "ipam", "runc", "opt", "hosts/nodal.test"} {
		if err := os.MkdirAll(filepath.Join(r.Dir, d), 0o711); err != nil {
			return fmt.Errorf("create the rig's directory: %w", err)
		}
	}
	values := map[string]any{
		"Dir": r.Dir, "Socket": r.socket(), "Pause": r.Image(r.pause),
		"CNIBin": cniBinDir, "Snapshotter": snapshotter(r.Dir), "RestrictOOM": !mayLowerOOMScore(), "SystemdCgroup": systemdCgroups(),
		"Bridge": r.slot.bridge(), "Subnet": r.slot.subnet(), "Registry": r.registry.host,
	}
	files := map[string]*template.Template{
		"config.toml": configTemplate, "cni/10-rig.conflist": networkTemplate, "hosts/nodal.test/hosts.toml": hostsTemplate,
	}
	for name, tmpl := range files {
		var text strings.Builder
		if err := tmpl.Execute(&text, values); err != nil {
			return fmt.Errorf("render %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(r.Dir, name), []byte(text.String()), 0o600); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// snapshotter returns overlayfs if a real mount works: a kernel that lists overlayfs may still
// refuse it on this file system (overlay on overlay, for one).
func snapshotter(dir string) string {
	trial := filepath.Join(dir, "trial")
	defer os.RemoveAll(trial)
	for _, d := range []string{"lower", "upper", "work", "merged"} {
		if err := os.MkdirAll(filepath.Join(trial, d), 0o700); err != nil {
			return "native"
		}
	}
	options := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", trial)
	merged := filepath.Join(trial, "merged")
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		return "native"
	}
	if err := unix.Unmount(merged, unix.MNT_DETACH); err != nil {
		return "native"
	}
	return "overlayfs"
}

// mayLowerOOMScore reports whether this process has CAP_SYS_RESOURCE.
func mayLowerOOMScore() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	return data[0].Effective&(1<<unix.CAP_SYS_RESOURCE) != 0
}
