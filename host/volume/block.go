package volume

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
	"nodal/node/storage"
)

// block reports whether a volume is a device, which containers get as such.
func (at place) block() bool { return at.lasting != nil && storage.Block(at.lasting.Spec.VolumeMode) }

// fits returns an error if a container mounts a device, or wants a file system as a device.
func (at place) fits() error {
	name := at.volume.Name
	for c := range node.EveryContainer(&at.pod.Spec) {
		for _, mount := range c.VolumeMounts {
			if mount.Name == name && at.block() {
				return fmt.Errorf("volume %q has volumeMode Block, but is specified in volumeMounts", name)
			}
		}
		for _, device := range c.VolumeDevices {
			if device.Name == name && !at.block() {
				return fmt.Errorf("volume %q has volumeMode Filesystem, but is specified in volumeDevices", name)
			}
		}
	}
	return nil
}

// setUpBlock checks that the device is there. It leaves nothing behind.
func (t *Tree) setUpBlock(_ context.Context, at place) error {
	_, err := at.device()
	return err
}

// device returns the path of the device, with all links resolved.
func (at place) device() (string, error) {
	from := at.dir // at which a driver has published it
	if local := at.lasting.Spec.Local; local != nil {
		from = local.Path
	}
	path, err := filepath.EvalSymlinks(from)
	if err != nil {
		return "", fmt.Errorf("find the device of the volume: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("look at the device of the volume: %w", err)
	}
	if info.Mode().Type() != os.ModeDevice {
		return "", fmt.Errorf("%s is not a block device", from)
	}
	return path, nil
}

// Devices returns the devices of a container. The pod's volumes must be laid out.
func (t *Tree) Devices(pod *node.Pod, c *corev1.Container) ([]*runtimeapi.Device, error) {
	var devices []*runtimeapi.Device
	for _, d := range c.VolumeDevices {
		at, _, err := t.find(pod.Object, d.Name)
		if err != nil {
			return nil, fmt.Errorf("find the device of volume %q: %w", d.Name, err)
		}
		path, err := at.device()
		if err != nil {
			return nil, fmt.Errorf("find the device of volume %q: %w", d.Name, err)
		}
		permissions := "mrw"
		if at.readOnly {
			permissions = "r"
		}
		devices = append(devices, &runtimeapi.Device{HostPath: path, ContainerPath: d.DevicePath, Permissions: permissions})
	}
	return devices, nil
}
