package volume

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// bindDevice has the claim called data bound to a device, by a link to it.
func (b *bench) bindDevice() (link, device string) {
	b.Helper()
	if os.Getuid() != 0 {
		b.Skip("only root makes devices")
	}
	dir := b.TempDir()
	link, device = filepath.Join(dir, "by-id"), filepath.Join(dir, "disk")
	if err := unix.Mknod(device, unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0))); err != nil {
		b.Fatal(err)
	}
	if err := os.Symlink(device, link); err != nil {
		b.Fatal(err)
	}
	block := corev1.PersistentVolumeBlock
	b.bound(local(link), false).Spec.VolumeMode = &block
	return link, device
}

// withDevice is a pod that has the claim called data as a device.
func withDevice(readOnly bool) *node.Pod {
	source := fromClaim()
	source.PersistentVolumeClaim.ReadOnly = readOnly
	p := pod(source)
	c := &p.Object.Spec.Containers[0]
	c.VolumeMounts, c.VolumeDevices = nil, []corev1.VolumeDevice{{Name: "v", DevicePath: "/dev/xvda"}}
	return p
}

func TestAContainerGetsTheDeviceOfItsClaim(t *testing.T) {
	b := newBench(t)
	_, device := b.bindDevice()
	for readOnly, permissions := range map[bool]string{false: "mrw", true: "r"} {
		p := withDevice(readOnly)
		if err := b.SetUp(t.Context(), p, "v"); err != nil {
			t.Fatal(err)
		}
		got, err := b.Devices(p, &p.Object.Spec.Containers[0])
		if err != nil || len(got) != 1 {
			t.Fatalf("got %v, %v, want one device", got, err)
		}
		if got, want := fmt.Sprint(got[0].HostPath, got[0].ContainerPath, got[0].Permissions), device+"/dev/xvda"+permissions; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if err := b.TearDown(t.Context(), p.UID()); err != nil {
			t.Error(err)
		}
	}
}

func TestADeviceIsNoDirectory(t *testing.T) {
	block := corev1.PersistentVolumeBlock
	for _, c := range []struct {
		name    string
		prepare func(*bench) *node.Pod
		want    string
	}{
		{"files are not given out as a device", func(b *bench) *node.Pod {
			b.bound(local(b.TempDir()), false)
			return withDevice(false)
		}, `volume "v" has volumeMode Filesystem, but is specified in volumeDevices`},
		{"a device is not mounted", func(b *bench) *node.Pod {
			b.bindDevice()
			return pod(fromClaim())
		}, `volume "v" has volumeMode Block, but is specified in volumeMounts`},
		{"a directory is no device", func(b *bench) *node.Pod {
			b.bound(local(b.TempDir()), false).Spec.VolumeMode = &block
			return withDevice(false)
		}, "is not a block device"},
		{"a device may be gone", func(b *bench) *node.Pod {
			b.bound(local("/dev/none"), false).Spec.VolumeMode = &block
			return withDevice(false)
		}, "no such file or directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			err := b.SetUp(t.Context(), c.prepare(b), "v")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
