package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/test/pace"
)

// Remove undoes New, including its pods, then checks that nothing is left.
func (r *Runtime) Remove() error {
	if r.lock == nil {
		return nil
	}
	defer r.lock.Close() // last: the slot is free once nothing of it is left
	var errs []error
	if r.conn != nil {
		errs = append(errs, r.removePods(), r.conn.Close())
	}
	errs = append(errs, r.Kill(), sweep(r.slot))
	if r.registry != nil {
		r.registry.server.Close()
	}
	return errors.Join(errs...)
}

// removePods removes the pods through the runtime, which alone also frees addresses and port
// mappings. It starts a killed runtime again for that, and gives back a lost network.
func (r *Runtime) removePods() error {
	if r.Pid == 0 {
		if err := r.Start(); err != nil {
			return fmt.Errorf("start containerd to remove its pods: %w", err)
		}
	}
	if r.lost != nil {
		if err := r.RegainNetwork(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), pace.Of(2*time.Minute))
	defer cancel()
	pods, err := r.CRI().ListPodSandbox(ctx, &runtimev1.ListPodSandboxRequest{})
	if err != nil {
		return fmt.Errorf("list the pods to remove: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for _, pod := range pods.Items {
		group.Go(func() (err error) {
			// A container whose start was just given up cannot be removed yet.
			eventually(30*time.Second, func() bool {
				err = r.removePod(ctx, pod.Id)
				return err == nil || ctx.Err() != nil
			})
			if err != nil {
				return fmt.Errorf("remove pod %s: %w", pod.Metadata.GetName(), err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (r *Runtime) removePod(ctx context.Context, id string) error {
	if _, err := r.CRI().StopPodSandbox(ctx, &runtimev1.StopPodSandboxRequest{PodSandboxId: id}); err != nil {
		return err
	}
	_, err := r.CRI().RemovePodSandbox(ctx, &runtimev1.RemovePodSandboxRequest{PodSandboxId: id})
	return err
}

// sweep removes everything of a slot without the help of a runtime, and fails if anything stays. It
// also serves slots whose owner crashed.
func sweep(s slot) error {
	var errs []error
	errs = append(errs, s.cleanOwn())
	errs = append(errs, s.killAll())
	errs = append(errs, s.removeShimSockets())
	errs = append(errs, s.unmountAll())
	errs = append(errs, s.removeBridge())
	errs = append(errs, s.removeChains())
	errs = append(errs, s.removeCgroups())
	if err := os.RemoveAll(s.dir()); err != nil {
		errs = append(errs, fmt.Errorf("remove the rig's directory: %w", err))
	}
	if left := remains(s); len(left) > 0 {
		errs = append(errs, fmt.Errorf("left behind: %s", strings.Join(left, "; ")))
	}
	return errors.Join(errs...)
}

// eventually polls a condition: the kernel tears things down after the call has returned.
func eventually(within time.Duration, check func() bool) bool {
	deadline := time.Now().Add(pace.Of(within))
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !check() {
		if time.Now().After(deadline) {
			return false
		}
		<-tick.C
	}
	return true
}

// killAll kills in rounds, since a shim may fork between two looks.
func (s slot) killAll() error {
	var alive []string
	gone := eventually(10*time.Second, func() bool {
		alive = nil
		for _, p := range processes() {
			if s.owned(p) && p.pid != os.Getpid() {
				alive = append(alive, p.String())
				unix.Kill(p.pid, unix.SIGKILL) // the next look shows whether it worked
			}
		}
		return len(alive) == 0
	})
	if !gone {
		return fmt.Errorf("kill the processes left by the rig: %s", strings.Join(alive, "; "))
	}
	return nil
}

// removeShimSockets removes the sockets of killed shims: containerd 1.6 keeps them outside its
// state directory.
func (s slot) removeShimSockets() error {
	addresses, _ := filepath.Glob(filepath.Join(s.dir(), "state/io.containerd.runtime.v2.task/*/*/address"))
	var errs []error
	for _, file := range addresses {
		socket := strings.TrimPrefix(strings.TrimSpace(readAll(filepath.Dir(file), "address")), "unix://")
		if !filepath.IsAbs(socket) {
			continue
		}
		if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove a shim's socket: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (s slot) unmountAll() error {
	var errs []error
	for _, point := range slices.Backward(mountpoints()) {
		if !strings.HasPrefix(point, s.dir()+"/") {
			continue
		}
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			errs = append(errs, fmt.Errorf("unmount %s: %w", point, err))
		}
	}
	return errors.Join(errs...)
}

// removeBridge also removes the host's ends of pods whose network namespace is gone: the kernel
// removes a veth with its peer.
func (s slot) removeBridge() error {
	for _, bridge := range s.bridges() {
		if !slices.Contains(links(), bridge) {
			continue
		}
		if out, err := exec.Command("ip", "link", "delete", bridge).CombinedOutput(); err != nil {
			return fmt.Errorf("delete bridge %s: %w: %s", bridge, err, out)
		}
	}
	eventually(20*time.Second, func() bool { return !slices.ContainsFunc(links(), s.ownedLink) })
	return nil
}

// ownedLink reports whether a link is a bridge of the slot or is attached to one.
func (s slot) ownedLink(link string) bool {
	return slices.ContainsFunc(s.bridges(), func(bridge string) bool {
		return link == bridge || strings.HasSuffix(link, " on "+bridge)
	})
}

// removeCgroups removes children before parents. A cgroup is busy for a moment after its last
// process has ended. systemd's slices are stopped, or systemd would believe that they still exist.
func (s slot) removeCgroups() error {
	var last error
	if systemdCgroups() {
		last = exec.Command("systemctl", "stop", s.cgroup()).Run() // it fails if there is no such slice
	}
	gone := eventually(20*time.Second, func() bool {
		dirs := cgroupDirs(s.cgroup())
		for _, dir := range slices.Backward(dirs) {
			last = os.Remove(dir)
		}
		return len(dirs) == 0
	})
	if !gone {
		return fmt.Errorf("remove the rig's cgroups: %w", last)
	}
	return nil
}
