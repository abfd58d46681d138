package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"
	deviceapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/utils/cpuset"

	"nodal/host/replace"
	"nodal/node"
	"nodal/node/assign"
)

// Writer writes the files, if they are to say something else than before.
type Writer struct {
	Root string
	// CPUs are those that may be exclusive or shared; without any, none is handed out.
	CPUs cpuset.CPUSet
	// Memory holds what pods may have of NUMA nodes, and Kept the rest; without any, none is handed out.
	Memory, Kept assign.Memory

	written map[string][]byte
}

// Write has the files say what pods have. resources are those of plugins.
func (w *Writer) Write(pods []*node.Pod, resources []node.DeviceResource) error {
	cpus := CPUManagerCheckpoint{PolicyName: staticCPUs, Entries: map[string]map[string]string{}}
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
	return errors.Join(w.writeCPUs(cpus), w.writeMemory(pods), w.writeDevices(data))
}

func (w *Writer) writeCPUs(cpus CPUManagerCheckpoint) error {
	if w.CPUs.IsEmpty() {
		return w.drop(cpuFile, noCPUs)
	}
	return w.write(cpuFile, cpus)
}

func (w *Writer) writeMemory(pods []*node.Pod) error {
	if w.Memory == nil {
		return w.drop(memoryFile, noMemory)
	}
	return w.write(memoryFile, w.memory(pods))
}

func (w *Writer) writeDevices(data checkpointData) error {
	if w.written[deviceFile] == nil && len(data.PodDeviceEntries)+len(data.RegisteredDevices) == 0 {
		return nil
	}
	return w.write(deviceFile, data)
}

// drop removes a file of another policy than the node's: upstream refuses to start with it.
func (w *Writer) drop(name, policy string) error {
	delete(w.written, name)
	path := filepath.Join(w.Root, name)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var file struct {
		PolicyName string `json:"policyName"`
	}
	if err == nil && json.Unmarshal(text, &file) == nil && file.PolicyName == policy {
		return nil
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		return fmt.Errorf("remove a file with which upstream's kubelet would not start: %w", err)
	}
	return nil
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

// write has a file say something, unless it says so already.
func (w *Writer) write(name string, content interface{ encode() ([]byte, error) }) error {
	text, err := content.encode()
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if bytes.Equal(w.written[name], text) {
		return nil
	}
	path := filepath.Join(w.Root, name)
	err = os.MkdirAll(filepath.Dir(path), 0o755)
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
