package checkpoint

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"
	deviceapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/utils/cpuset"

	"nodal/host/replace"
	"nodal/node"
)

// Writer writes the files, if they are to say something else than before.
type Writer struct {
	Root string
	// CPUs are those that may be exclusive or shared; without any, the file of CPUs is left alone.
	CPUs cpuset.CPUSet

	written map[string][]byte
}

// Write has the files say what pods have. resources are those of plugins.
func (w *Writer) Write(pods []*node.Pod, resources []node.DeviceResource) error {
	cpus := CPUManagerCheckpoint{PolicyName: "static", Entries: map[string]map[string]string{}}
	shared, data := w.CPUs, checkpointData{RegisteredDevices: map[string][]string{}}
	near := map[string][]int{}
	for _, r := range resources {
		if r.CDI.Kind != "" { // of the node's configuration, which upstream does not know
			continue
		}
		healthy := []string{}
		for _, d := range r.Devices {
			near[string(r.Name)+"/"+d.ID] = d.Nodes
			if d.Healthy {
				healthy = append(healthy, d.ID)
			}
		}
		data.RegisteredDevices[string(r.Name)] = healthy
	}
	for _, pod := range pods {
		for _, name := range slices.Sorted(maps.Keys(pod.Shares)) {
			share := pod.Shares[name]
			// The node has written what it reads here.
			if own, err := cpuset.Parse(share.CPUs); err == nil && !own.IsEmpty() {
				shared = shared.Difference(own)
				if cpus.Entries[string(pod.UID())] == nil {
					cpus.Entries[string(pod.UID())] = map[string]string{}
				}
				cpus.Entries[string(pod.UID())][name] = own.String()
			}
			entries, err := entriesOf(pod, name, near)
			if err != nil {
				return err
			}
			data.PodDeviceEntries = append(data.PodDeviceEntries, entries...)
		}
	}
	cpus.DefaultCPUSet = shared.String()
	slices.SortStableFunc(data.PodDeviceEntries, func(a, b PodDevicesEntry) int { return cmp.Compare(a.PodUID, b.PodUID) })
	return w.write(cpus, data)
}

func (w *Writer) write(cpus CPUManagerCheckpoint, data checkpointData) error {
	if !w.CPUs.IsEmpty() {
		text, err := cpus.encode()
		if err == nil {
			err = w.file(cpuFile, text)
		}
		if err != nil {
			return err
		}
	}
	if w.written[deviceFile] == nil && len(data.PodDeviceEntries)+len(data.RegisteredDevices) == 0 {
		return nil
	}
	text, err := data.encode()
	if err == nil {
		err = w.file(deviceFile, text)
	}
	return err
}

// entriesOf returns what a container has of each resource. The node joins the answers of all plugins: the first entry has
// the answer, and upstream joins it with the others'. Without an answer there is no entry: upstream would ask no plugin.
func entriesOf(pod *node.Pod, container string, near map[string][]int) (entries []PodDevicesEntry, err error) {
	grant, granted := pod.Grants[container]
	if !granted {
		return nil, nil
	}
	answer, err := proto.MarshalOptions{Deterministic: true}.Marshal(answerOf(grant))
	if err != nil {
		return nil, fmt.Errorf("encode what plugins have granted container %s: %w", container, err)
	}
	devices := pod.Shares[container].Devices
	for _, resource := range slices.Sorted(maps.Keys(devices)) {
		ids := DevicesPerNUMA{}
		for _, id := range devices[resource] {
			nodes := near[string(resource)+"/"+id]
			if len(nodes) == 0 {
				ids[elsewhere] = append(ids[elsewhere], id)
			}
			for _, n := range nodes {
				ids[int64(n)] = append(ids[int64(n)], id)
			}
		}
		entries = append(entries, PodDevicesEntry{string(pod.UID()), container, string(resource), ids, answer})
		answer = []byte{}
	}
	return entries, nil
}

// answerOf returns what a plugin would have to answer for a grant.
func answerOf(g node.Grant) *deviceapi.ContainerAllocateResponse {
	answer := &deviceapi.ContainerAllocateResponse{Envs: g.Env, Annotations: g.Annotations}
	for _, m := range g.Mounts {
		answer.Mounts = append(answer.Mounts, &deviceapi.Mount{HostPath: m.Host, ContainerPath: m.Container, ReadOnly: m.ReadOnly})
	}
	for _, n := range g.Nodes {
		answer.Devices = append(answer.Devices, &deviceapi.DeviceSpec{HostPath: n.Host, ContainerPath: n.Container, Permissions: n.Permissions})
	}
	for _, name := range g.CDI {
		answer.CdiDevices = append(answer.CdiDevices, &deviceapi.CDIDevice{Name: name})
	}
	return answer
}

func (w *Writer) file(name string, text []byte) error {
	if bytes.Equal(w.written[name], text) {
		return nil
	}
	path := filepath.Join(w.Root, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = replace.File(path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("tell upstream's kubelet what containers have: %w", err)
	}
	if w.written == nil {
		w.written = map[string][]byte{}
	}
	w.written[name] = text
	return nil
}
