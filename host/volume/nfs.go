package volume

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nodal/node"
)

// Time limits of a server. One that does not answer must delay only its own pod, and that as little as possible.
const (
	mountPatience   = 30 * time.Second
	unmountPatience = 5 * time.Second
)

// setUpNFS mounts a directory of a server with mount.nfs, which finds the version and the transport that both sides
// have.
func (t *Tree) setUpNFS(ctx context.Context, at place) error {
	// Read the mount table, not the path: a dead server would not answer.
	points, err := mountsBelow(t.Pods)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	if slices.ContainsFunc(points, func(p mountPoint) bool { return p.path == at.dir }) {
		return nil
	}
	helper, err := exec.LookPath(t.NFSHelper)
	if err != nil {
		return fmt.Errorf("an nfs volume needs the program %s, which is not on this machine; install nfs-common: %w", t.NFSHelper, node.ErrUnsupported)
	}
	if err := makeDir(at.dir); err != nil {
		return err
	}
	source := at.volume.NFS
	arguments := []string{source.Server + ":" + source.Path, at.dir}
	if options := at.nfsOptions(); len(options) > 0 {
		arguments = append(arguments, "-o", strings.Join(options, ","))
	}
	return t.inTime(ctx, at.dir, func(ctx context.Context) error {
		said, err := exec.CommandContext(ctx, helper, arguments...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("mount %s: %w: %s", arguments[0], err, strings.TrimSpace(string(said)))
		}
		return nil
	})
}

func (at place) nfsOptions() []string {
	var options []string
	if at.lasting != nil {
		options = slices.Clone(at.lasting.Spec.MountOptions)
	}
	if at.readOnly {
		options = append(options, "ro")
	}
	return options
}

var errSlow = errors.New("the server does not answer")

// inTime makes a call that a dead server may block for good. If it gives the call up and the call does not end, it
// refuses a second attempt.
func (t *Tree) inTime(ctx context.Context, what string, do func(context.Context) error) error {
	t.mu.Lock()
	if t.stuck[what] {
		t.mu.Unlock()
		return fmt.Errorf("an earlier attempt still waits: %w", errSlow)
	}
	t.stuck[what] = true
	t.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, mountPatience, errSlow)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		err := do(ctx)
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.stuck, what)
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// overNetwork reports whether a file system may block for good.
func (p mountPoint) overNetwork() bool { return p.kind == "nfs" || p.kind == "nfs4" }

// letGo unmounts a file system of a server: cleanly if the server answers, and by force otherwise.
func letGo(point string, unmount func(flags int) error) error {
	ended := make(chan error, 1)
	go func() { ended <- unmount(unix.UMOUNT_NOFOLLOW) }()
	patience := time.NewTimer(unmountPatience)
	defer patience.Stop()
	var err error
	select {
	case err = <-ended:
	case <-patience.C:
		// Force ends the calls that wait for the server. Then the mount can at least be
		// detached from the tree.
		go func() { _ = unmount(unix.UMOUNT_NOFOLLOW | unix.MNT_FORCE) }()
		err = unmount(unix.UMOUNT_NOFOLLOW | unix.MNT_DETACH)
	}
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmount %s: %w", point, err)
	}
	return nil
}
