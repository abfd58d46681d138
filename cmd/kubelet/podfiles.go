package main

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

	"nodal/host/cri"
	"nodal/host/cri/spec"
	"nodal/host/logs"
	"nodal/host/podfiles"
	"nodal/host/volume"
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
	log   *slog.Logger
}

var _ reconciler.Logs = podFiles{}

// ofVolumes returns what a container gets of its pod's volumes: mounts, and block devices of claims.
func ofVolumes(volumes *volume.Tree) spec.Contributor {
	return func(run spec.Run) (extras spec.Extras, err error) {
		if extras.Mounts, err = volumes.Mounts(run.Pod, run.Container, run.VolumeImages); err != nil {
			return spec.Extras{}, err
		}
		extras.Devices, err = volumes.Devices(run.Pod, run.Container)
		return extras, err
	}
}

// extras are the node's own files in a container.
func (p podFiles) extras(run spec.Run) (extras spec.Extras, err error) {
	if len(run.IPs) > 0 && !mountsItself(run.Container, hostsPath) {
		text, err := hostsText(run)
		if err != nil {
			return spec.Extras{}, err
		}
		file, err := p.files.WriteHosts(string(run.Pod.UID()), text)
		if err != nil {
			return spec.Extras{}, err
		}
		extras.Mounts = append(extras.Mounts, &runtimeapi.Mount{ContainerPath: hostsPath, HostPath: file, SelinuxRelabel: true})
	}
	if target := run.Container.TerminationMessagePath; target != "" {
		file, err := p.files.MakeMessage(podfiles.Run{UID: string(run.Pod.UID()), Container: run.Container.Name, Attempt: run.Attempt})
		if err != nil {
			return spec.Extras{}, err
		}
		extras.Mounts = append(extras.Mounts, &runtimeapi.Mount{ContainerPath: target, HostPath: file, SelinuxRelabel: true})
	}
	return extras, nil
}

func mountsItself(c *corev1.Container, at string) bool {
	for i := range c.VolumeMounts {
		if path.Clean(c.VolumeMounts[i].MountPath) == at {
			return true
		}
	}
	return false
}

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

// Link lets log collectors find the log of a run.
func (p podFiles) Link(key node.Key, run *node.Container) {
	if err := p.logs.Link(key, run.Name, run.ID, run.LogPath); err != nil {
		p.log.Warn("log collectors will not find a log", "pod", key.String(), "container", run.Name, "err", err)
	}
}

// Unlink removes what Link made.
func (p podFiles) Unlink(key node.Key, container, id string) {
	if err := p.logs.Unlink(key, container, id); err != nil {
		p.log.Warn("a link to a log is left behind", "pod", key.String(), "container", container, "err", err)
	}
}

func (p podFiles) RemovePod(key node.Key, uid types.UID) error {
	return errors.Join(
		p.logs.RemovePod(key, uid),
		p.files.RemovePod(string(uid)),
	)
}

func (p podFiles) RemoveRun(key node.Key, uid types.UID, container string, attempt uint32) error {
	return errors.Join(
		p.logs.RemoveRun(node.LogRun{Key: key, UID: uid, Container: container, Attempt: attempt}),
		p.files.RemoveRun(podfiles.Run{UID: string(uid), Container: container, Attempt: attempt}),
	)
}
