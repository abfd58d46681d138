package volume

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

// What a volume's group may do at least, as every kubelet has it.
const (
	groupReads  fs.FileMode = 0o440
	groupEnters fs.FileMode = 0o550
	groupAll    fs.FileMode = 0o770
)

// fsGroup is the group that shares the volumes of a pod, if one does.
func fsGroup(pod *corev1.Pod) (gid int, ok bool) {
	if s := pod.Spec.SecurityContext; s != nil && s.FSGroup != nil {
		return int(*s.FSGroup), true
	}
	return 0, false
}

// setMode gives a volume's directory its mode, and the group that shares it what
// the group is to have. What is made in it belongs to the group too.
func (at place) setMode(mode, forGroup fs.FileMode) error {
	if gid, ok := fsGroup(at.pod); ok {
		if err := os.Lchown(at.dir, -1, gid); err != nil {
			return fmt.Errorf("give the volume to the group: %w", err)
		}
		mode |= fs.ModeSetgid | forGroup
	}
	return chmod(at.dir, mode)
}

// mountOptions have a file system be mounted with its mode and its group.
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

// shared are the files with the group of the pod, which may read them whatever
// their modes say.
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
