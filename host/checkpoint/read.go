package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	deviceapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/utils/cpuset"

	"nodal/node"
)

// Read returns what the files say that containers have, by the UIDs of their pods. A file that is not there says nothing.
// Beside an error stands what the other file says.
func Read(root string) (map[types.UID]node.Held, error) {
	found := found{}
	var cpus CPUManagerCheckpoint
	var memory MemoryManagerCheckpoint
	var devices deviceData
	errs := []error{
		decode(filepath.Join(root, cpuFile), &cpus), decode(filepath.Join(root, memoryFile), &memory), decode(filepath.Join(root, deviceFile), &devices),
	}
	for uid, containers := range cpus.Entries {
		for container, text := range containers {
			set, err := cpuset.Parse(text)
			errs = append(errs, err)
			found.share(uid, container, func(s *node.Share) { s.CPUs = set.String() })
		}
	}
	found.memory(memory)
	for _, e := range devices.Data.PodDeviceEntries {
		errs = append(errs, found.devices(e))
	}
	return found, errors.Join(errs...)
}

type found map[types.UID]node.Held

// share changes the share of a container.
func (f found) share(uid, container string, change func(*node.Share)) {
	if _, ok := f[types.UID(uid)]; !ok {
		f[types.UID(uid)] = node.Held{Shares: node.Shares{}, Grants: node.Grants{}}
	}
	shares := f[types.UID(uid)].Shares
	share := shares[container]
	change(&share)
	shares[container] = share
}

// memory adds what containers have of NUMA nodes.
func (f found) memory(c MemoryManagerCheckpoint) {
	for _, uid := range slices.Sorted(maps.Keys(c.Entries)) {
		for _, container := range slices.Sorted(maps.Keys(c.Entries[uid])) {
			for _, b := range c.Entries[uid][container] {
				f.share(uid, container, func(s *node.Share) {
					s.Mems, s.Memory = cpuset.New(b.NUMAAffinity...).String(), append(s.Memory, c.MachineState.take(b)...)
				})
			}
		}
	}
}

// devices adds what a container has of a resource, and what its plugin has granted.
func (f found) devices(e PodDevicesEntry) error {
	var ids []string
	for _, near := range e.DeviceIDs {
		ids = append(ids, near...)
	}
	slices.Sort(ids)
	f.share(e.PodUID, e.ContainerName, func(s *node.Share) {
		if s.Devices == nil {
			s.Devices = map[corev1.ResourceName][]string{}
		}
		s.Devices[corev1.ResourceName(e.ResourceName)] = slices.Compact(ids)
	})
	var answer deviceapi.ContainerAllocateResponse
	if err := proto.Unmarshal(e.AllocResp, &answer); err != nil {
		return fmt.Errorf("read what a plugin has granted container %s of pod %s: %w", e.ContainerName, e.PodUID, err)
	}
	grants := f[types.UID(e.PodUID)].Grants
	grants[e.ContainerName] = joined(grants[e.ContainerName], &answer)
	return nil
}

// joined adds a plugin's answer to a grant. The grant is for no sandbox, so plugins are asked again before the next run.
func joined(g node.Grant, answer *deviceapi.ContainerAllocateResponse) node.Grant {
	g.Env, g.Annotations = both(g.Env, answer.GetEnvs()), both(g.Annotations, answer.GetAnnotations())
	for _, m := range answer.GetMounts() {
		g.Mounts = append(g.Mounts, node.GrantedMount{Host: m.GetHostPath(), Container: m.GetContainerPath(), ReadOnly: m.GetReadOnly()})
	}
	for _, d := range answer.GetDevices() {
		g.Nodes = append(g.Nodes, node.GrantedNode{Host: d.GetHostPath(), Container: d.GetContainerPath(), Permissions: d.GetPermissions()})
	}
	for _, d := range answer.GetCdiDevices() {
		g.CDI = append(g.CDI, d.GetName())
	}
	return g
}

func both(one, other map[string]string) map[string]string {
	if len(one) == 0 {
		return other
	}
	maps.Copy(one, other)
	return one
}

func decode(path string, into any) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("read what upstream's kubelet has given to containers: %s: %w", path, err)
	}
	return nil
}
