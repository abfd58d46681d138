package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/cri"
	"nodal/host/logs"
	"nodal/host/podfiles"
	"nodal/node"
	"nodal/reconciler"
)

const (
	hostsPath = "/etc/hosts"

	// What of a failed container's log stands for a message that it did not write.
	lastLines = 80
	lastBytes = 2048
)

// podFiles is what the node lays out for pods besides their volumes.
type podFiles struct {
	logs  logs.Layout
	files podfiles.Tree
}

var _ reconciler.Logs = podFiles{}

// mounts are all that a container gets mounted: its volumes, and the node's own
// files.
func (a *agent) mounts(run cri.Run) ([]*runtimeapi.Mount, error) {
	volumes, err := a.volumes.Mounts(run.Pod, run.Container, run.VolumeImages)
	if err != nil {
		return nil, err
	}
	files, err := a.files.mounts(run)
	return append(volumes, files...), err
}

// mounts are the node's own files in a container.
func (p podFiles) mounts(run cri.Run) ([]*runtimeapi.Mount, error) {
	var mounts []*runtimeapi.Mount
	if len(run.IPs) > 0 && !mountsItself(run.Container, hostsPath) {
		text, err := hostsText(run)
		if err != nil {
			return nil, err
		}
		file, err := p.files.WriteHosts(string(run.Pod.UID()), text)
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, &runtimeapi.Mount{ContainerPath: hostsPath, HostPath: file, SelinuxRelabel: true})
	}
	if target := run.Container.TerminationMessagePath; target != "" {
		file, err := p.files.MakeMessage(podfiles.Run{UID: string(run.Pod.UID()), Container: run.Container.Name, Attempt: run.Attempt})
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, &runtimeapi.Mount{ContainerPath: target, HostPath: file, SelinuxRelabel: true})
	}
	return mounts, nil
}

func mountsItself(c *corev1.Container, at string) bool {
	for i := range c.VolumeMounts {
		if path.Clean(c.VolumeMounts[i].MountPath) == at {
			return true
		}
	}
	return false
}

func hostsText(run cri.Run) (string, error) {
	spec := &run.Pod.Object.Spec
	if !spec.HostNetwork {
		hosts := podfiles.Hosts{Name: run.Name.Short, Domain: run.Name.Domain, IPs: run.IPs, Aliases: spec.HostAliases}
		return hosts.Text(), nil
	}
	host, err := os.ReadFile(hostsPath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the host's own hosts file: %w", err)
	}
	return podfiles.HostNetwork(string(host), spec.HostAliases), nil
}

// lastWords are what a run wrote as its termination message, or else the end of
// its log if the pod wants that.
func (p podFiles) lastWords(ctx context.Context, e cri.Ending) (string, error) {
	c := &e.Container
	if e.MessageFile {
		words, err := p.files.Message(podfiles.Run{UID: string(c.UID), Container: c.Name, Attempt: c.Attempt})
		if err != nil || words != "" {
			return words, err
		}
	}
	if !e.LogInstead || c.LogPath == "" {
		return "", nil
	}
	return logs.Last(ctx, c.LogPath, lastLines, lastBytes)
}

func (p podFiles) RemovePod(key node.Key, uid types.UID) error {
	return errors.Join(
		p.logs.RemovePod(logs.Pod{Namespace: key.Namespace, Name: key.Name, UID: string(uid)}),
		p.files.RemovePod(string(uid)),
	)
}

func (p podFiles) RemoveRun(key node.Key, uid types.UID, container string, attempt uint32) error {
	return errors.Join(
		p.logs.RemoveAttempt(logs.Pod{Namespace: key.Namespace, Name: key.Name, UID: string(uid)}, container, int(attempt)),
		p.files.RemoveRun(podfiles.Run{UID: string(uid), Container: container, Attempt: attempt}),
	)
}
