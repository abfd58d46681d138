package checkpoint

import (
	"encoding/json"
	"hash/fnv"
	"io"
	"strings"

	"k8s.io/utils/dump"
)

// The files, below the root directory of a kubelet.
const (
	cpuFile    = "cpu_manager_state"
	memoryFile = "memory_manager_state"
	deviceFile = "device-plugins/kubelet_internal_checkpoint"
)

// Files returns the names of the files, below the root directory of a kubelet.
func Files() []string { return []string{cpuFile, memoryFile, deviceFile} }

// The policies of the files, in upstream's words.
const (
	staticCPUs   = "static"
	noCPUs       = "none"
	staticMemory = "Static"
	noMemory     = "None"
)

// Checksum guards a file against being read in part.
type Checksum uint64

// CPUManagerCheckpoint is the file of exclusive CPUs.
type CPUManagerCheckpoint struct {
	PolicyName    string                       `json:"policyName"`
	DefaultCPUSet string                       `json:"defaultCpuSet"`
	Entries       map[string]map[string]string `json:"entries,omitempty"` // CPUs by the pod's UID and the container's name
	Checksum      Checksum                     `json:"checksum"`
}

// encode returns the content of the file, with its checksum.
func (c CPUManagerCheckpoint) encode() ([]byte, error) {
	c.Checksum = 0
	// Upstream's types are in two packages.
	text := strings.NewReplacer("checkpoint.CPUManager", "state.CPUManager", "checkpoint.Checksum", "checksum.Checksum").Replace(dump.ForHash(&c))
	c.Checksum = sum(text)
	return json.Marshal(c)
}

// DevicesPerNUMA holds IDs of devices by the NUMA node that they are near to.
type DevicesPerNUMA map[int64][]string

// elsewhere stands for the NUMA node of a device that has none.
const elsewhere = -1

// PodDevicesEntry holds what a container has of one resource.
type PodDevicesEntry struct {
	PodUID        string
	ContainerName string
	ResourceName  string
	DeviceIDs     DevicesPerNUMA
	AllocResp     []byte // a ContainerAllocateResponse of the plugin
}

type checkpointData struct {
	PodDeviceEntries  []PodDevicesEntry
	RegisteredDevices map[string][]string // those that are healthy, by resource
}

// deviceData is the content of the file of devices.
type deviceData struct {
	Data     checkpointData
	Checksum Checksum
}

func (d checkpointData) encode() ([]byte, error) {
	return json.Marshal(deviceData{d, sum(dump.ForHash(d))})
}

func sum(text string) Checksum {
	hash := fnv.New32a()
	io.WriteString(hash, text)
	return Checksum(hash.Sum32())
}
