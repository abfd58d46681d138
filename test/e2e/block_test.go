package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
)

// loopDevice attaches a file to a loop device. The kernel frees it when this test, its last user,
// closes it.
func loopDevice(t *testing.T, file string) string {
	t.Helper()
	backing, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer backing.Close()
	if err := backing.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	control, err := os.Open("/dev/loop-control")
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	for {
		number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			t.Fatalf("ask for a free loop device: %v", err)
		}
		device, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", number), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		config := unix.LoopConfig{Fd: uint32(backing.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}}
		err = unix.IoctlLoopConfigure(int(device.Fd()), &config)
		if err == nil {
			t.Cleanup(func() { device.Close() })
			return device.Name()
		}
		device.Close()
		if !errors.Is(err, unix.EBUSY) { // another process took the device
			t.Fatalf("make %s a device: %v", file, err)
		}
	}
}

const blockPods = `---
apiVersion: v1
kind: PersistentVolume
metadata: {name: raw}
spec: {volumeMode: Block, storageClassName: raw, capacity: {storage: 1Mi}, accessModes: [ReadWriteOnce], local: {path: LINK}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: raw}
spec: {volumeMode: Block, storageClassName: raw, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: raw}
spec:
  terminationGracePeriodSeconds: 1
  volumes:
  - {name: disk, persistentVolumeClaim: {claimName: raw}}
  - {name: locked, persistentVolumeClaim: {claimName: raw, readOnly: true}}
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    volumeDevices: [{name: disk, devicePath: /dev/disk}]
  - name: reader
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    volumeDevices: [{name: locked, devicePath: /dev/disk}]
---
apiVersion: v1
kind: Pod
metadata: {name: mounts}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: disk, persistentVolumeClaim: {claimName: raw}}]
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
    volumeMounts: [{name: disk, mountPath: /disk}]
`

func TestAContainerHasADeviceOfTheMachine(t *testing.T) {
	claim.Shows(t, "Volumes",
		"a claim of volumeMode Block gives a container the device of a local volume, read-only if the pod says so",
		"a pod that mounts a block claim as a file system waits, and says so",
	)
	n := start(t)
	file, link := filepath.Join(n.rt.Dir, "disk"), filepath.Join(n.rt.Dir, "by-id")
	if err := os.Symlink(loopDevice(t, file), link); err != nil {
		t.Fatal(err)
	}
	n.apply(strings.Replace(blockPods, "LINK", link, 1))
	n.waitDevice(file)
}

// waitDevice waits until the container of a block pod writes to the device on a file, and the other pod says why it waits.
func (n *node) waitDevice(file string) {
	n.t.Helper()
	n.waitRunning("raw")
	n.inside("raw", "main", "test -b /dev/disk && echo written | dd of=/dev/disk conv=notrunc,fsync")
	if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), "written\n") {
		n.t.Errorf("the file behind the device begins with %.10q, %v", text, err)
	}
	if got := n.inside("raw", "reader", "head -c 8 /dev/disk; echo no | dd of=/dev/disk 2>/dev/null; echo $?"); got != "written\n1\n" {
		n.t.Errorf("a read-only container got %q", got)
	}
	n.wait("mounts", "it says why it waits", func(p *corev1.Pod) bool {
		return p.Status.Reason == "FailedMount" && strings.Contains(p.Status.Message, `volume "disk" has volumeMode Block, but is specified in volumeMounts`)
	})
}
