package volume

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

// The least rights of a volume's group, as every kubelet has them.
const (
	groupReads  fs.FileMode = 0o440
	groupEnters fs.FileMode = 0o550
	groupAll    fs.FileMode = 0o770
)

// fsGroup returns the group that shares the volumes of a pod, if there is one.
func fsGroup(pod *corev1.Pod) (gid int, ok bool) {
	if s := pod.Spec.SecurityContext; s != nil && s.FSGroup != nil {
		return int(*s.FSGroup), true
	}
	return 0, false
}

// setMode sets the mode of a volume's directory, with the rights and the ownership of the group that shares it. New
// files in it belong to the group too.
func (at place) setMode(mode, forGroup fs.FileMode) error {
	if gid, ok := fsGroup(at.pod); ok {
		if err := os.Lchown(at.dir, -1, gid); err != nil {
			return fmt.Errorf("give the volume to the group: %w", err)
		}
		mode |= fs.ModeSetgid | forGroup
	}
	return chmod(at.dir, mode)
}

// mountOptions returns the options that mount a file system with its mode and its group.
func (at place) mountOptions(mode fs.FileMode) string {
	number := uint32(mode.Perm())
	if mode&fs.ModeSticky != 0 {
		number |= unix.S_ISVTX
	}
	gid, ok := fsGroup(at.pod)
	if !ok {
		return fmt.Sprintf("mode=%o", number)
	}
	return fmt.Sprintf("mode=%o,gid=%d", number|unix.S_ISGID|uint32(groupAll), gid)
}

// shared returns the files with the group of the pod as their owner. The group may read them, whatever their modes are.
func (p payload) shared(pod *corev1.Pod) payload {
	gid, ok := fsGroup(pod)
	if !ok {
		return p
	}
	for name, f := range p {
		f.group, f.mode = gid, f.mode|groupReads
		p[name] = f
	}
	return p
}
