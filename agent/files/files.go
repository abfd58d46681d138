package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/agent/config"
	"nodal/host/cri"
	"nodal/host/cri/spec"
	"nodal/host/logs"
	"nodal/host/podfiles"
	"nodal/host/runtime"
	"nodal/host/volume"
	"nodal/node"
	"nodal/reconciler"
)

const (
	hostsPath = "/etc/hosts"

	// The end of a failed container's log replaces a termination message that is missing.
	lastLines = 80
	lastBytes = 2048
)

// Files lays out the files of pods on the node's disk: logs, hosts files and termination messages.
type Files struct {
	Logs logs.Layout

	tree    podfiles.Tree
	ours    func(types.UID) bool
	kept    *logs.Kept
	listing *logs.Listing
	budget  config.LogBudget
	log     *slog.Logger
}

var _ reconciler.Logs = Files{}

// In returns the files below the node's directories. The logs of deleted pods are kept if the budget has room for any. ours reports whether the directory of a pod, which host/volume
// makes, is this node's. Several nodes of a machine may have their logs side by side: the logs of a pod are this node's
// if that directory is.
func In(dirs config.Dirs, budget config.LogBudget, ours func(types.UID) bool, log *slog.Logger) Files {
	f := Files{
		Logs:   logs.Layout{Pods: dirs.PodLogs, Links: dirs.LogLinks()},
		tree:   podfiles.Tree{Root: dirs.Pods(), Mark: volume.Ours},
		ours:   ours,
		kept:   logs.NewKept(dirs.PodLogs, runtime.ID(dirs.Root), log),
		budget: budget,
		log:    log,
	}
	if !budget.None() {
		f.Logs.Kept = f.kept
	}
	f.listing = &logs.Listing{Layout: f.Logs}
	return f
}

// OfVolumes contributes the volumes of its pod to a container: mounts, and block devices of claims.
func OfVolumes(volumes *volume.Tree) spec.Contributor {
	return func(run spec.Run) (extras spec.Extras, err error) {
		if extras.Mounts, err = volumes.Mounts(run.Pod, run.Container, run.VolumeImages); err != nil {
			return spec.Extras{}, err
		}
		extras.Devices, err = volumes.Devices(run.Pod, run.Container)
		return extras, err
	}
}

// Extras contributes the node's own files to a container.
func (f Files) Extras(run spec.Run) (extras spec.Extras, err error) {
	if len(run.IPs) > 0 && !mountsItself(run.Container, hostsPath) {
		text, err := hostsText(run)
		if err != nil {
			return spec.Extras{}, err
		}
		file, err := f.tree.WriteHosts(string(run.Pod.UID()), text)
		if err != nil {
			return spec.Extras{}, err
		}
		extras.Mounts = append(extras.Mounts, mount(hostsPath, file))
	}
	if target := run.Container.TerminationMessagePath; target != "" {
		file, err := f.tree.MakeMessage(podfiles.Run{
			UID: string(run.Pod.UID()), Container: run.Container.Name, Attempt: run.Attempt,
		})
		if err != nil {
			return spec.Extras{}, err
		}
		extras.Mounts = append(extras.Mounts, mount(target, file))
	}
	return extras, nil
}

// mount returns the mount of a file of the node.
func mount(at, file string) *runtimeapi.Mount {
	return &runtimeapi.Mount{ContainerPath: at, HostPath: file, SelinuxRelabel: true}
}

// mountsItself reports whether a container mounts a volume of its own at a path.
func mountsItself(c *corev1.Container, at string) bool {
	for i := range c.VolumeMounts {
		if path.Clean(c.VolumeMounts[i].MountPath) == at {
			return true
		}
	}
	return false
}

// hostsText returns the content of a container's /etc/hosts.
func hostsText(run spec.Run) (string, error) {
	pod := &run.Pod.Object.Spec
	if !pod.HostNetwork {
		hosts := podfiles.Hosts{Name: run.Name.Short, Domain: run.Name.Domain, IPs: run.IPs, Aliases: pod.HostAliases}
		return hosts.Text(), nil
	}
	host, err := os.ReadFile(hostsPath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the host's own hosts file: %w", err)
	}
	return podfiles.HostNetwork(string(host), pod.HostAliases), nil
}

// LastWords returns the termination message of a run, or else the end of its log if the pod asks for that.
func (f Files) LastWords(ctx context.Context, e cri.Ending) (string, error) {
	c := &e.Container
	if e.MessageFile {
		words, err := f.tree.Message(podfiles.Run{UID: string(c.UID), Container: c.Name, Attempt: c.Attempt})
		if err != nil || words != "" {
			return words, err
		}
	}
	if !e.LogInstead || c.LogPath == "" {
		return "", nil
	}
	return logs.Last(ctx, node.LogRun{Path: c.LogPath, ID: c.ID}, lastLines, lastBytes)
}

// Link makes the link by which log collectors find the log of a run.
func (f Files) Link(key node.Key, run *node.Container) {
	if err := f.Logs.Link(key, run.Name, run.ID, run.LogPath); err != nil {
		f.log.Warn("cannot link a log; log collectors will not find it", "pod", key.String(), "container", run.Name, "err", err)
	}
}

// Unlink removes the link that Link made.
func (f Files) Unlink(key node.Key, container, id string) {
	if err := f.Logs.Unlink(key, container, id); err != nil {
		f.log.Warn("cannot remove the link to a log", "pod", key.String(), "container", container, "err", err)
	}
}

// RemovePod removes the logs, hosts files and termination messages of a pod. Its logs are kept apart.
func (f Files) RemovePod(key node.Key, uid types.UID) error {
	return errors.Join(
		f.Logs.RemovePod(key, uid),
		f.tree.RemovePod(string(uid)),
	)
}

// Sweep removes the logs of this node's pods for which keep is false. host/volume sweeps the directories of pods with all
// other files, and has to come later: these show which pods were this node's.
func (f Files) Sweep(_ context.Context, keep func(types.UID) bool) error {
	return f.Logs.SweepPods(f.unless(keep))
}

// Garbage lists the logs that Sweep would remove.
func (f Files) Garbage(_ context.Context, keep func(types.UID) bool) ([]node.Garbage, error) {
	return f.Logs.Garbage(f.unless(keep))
}

// unless reports whether the logs of a pod may go.
func (f Files) unless(keep func(types.UID) bool) func(types.UID) bool {
	return func(uid types.UID) bool { return f.ours(uid) && !keep(uid) }
}

// RemoveRun removes the log and the termination message of a run. Its log is kept apart.
func (f Files) RemoveRun(key node.Key, uid types.UID, container string, attempt uint32) error {
	return errors.Join(
		f.Logs.RemoveRun(node.LogRun{Key: key, UID: uid, Container: container, Attempt: attempt}),
		f.tree.RemoveRun(podfiles.Run{UID: string(uid), Container: container, Attempt: attempt}),
	)
}
