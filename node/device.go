package node

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Device is one thing of a resource that a plugin offers.
type Device struct {
	ID      string
	Healthy bool
	Nodes   []int // NUMA nodes that it is near to; empty if the plugin does not say
}

// DeviceResource holds what is known of a resource that a device plugin or the node's configuration offers.
type DeviceResource struct {
	Name     corev1.ResourceName
	Plugin   string    // its socket
	Found    time.Time // when a plugin first registered it
	Lost     time.Time // when its plugin went away; zero if it is there
	Fault    string    // why it went away, or why some devices of the configuration cannot be had
	PreStart bool      // the plugin wants to be asked before each start of a container
	CDI      CDIOffer  // of the node's configuration; the zero value if a plugin offers the resource
	Devices  []Device  // by ID, as the plugin said last
}

// LostGrace bounds the time that the devices of a plugin that went away count for the capacity. Kubernetes has the same.
const LostGrace = 5 * time.Minute

// Expired reports whether the plugin went away so long ago that its devices do not count any more.
func (r DeviceResource) Expired(now time.Time) bool {
	return !r.Lost.IsZero() && now.Sub(r.Lost) > LostGrace
}

// Offered returns the devices that count for the node's capacity. Pods can have the healthy ones.
func (r DeviceResource) Offered(now time.Time) []Device {
	switch {
	case r.Lost.IsZero():
		return r.Devices
	case r.Expired(now):
		return nil
	}
	gone := slices.Clone(r.Devices)
	for i := range gone {
		gone[i].Healthy = false
	}
	return gone
}

// Healthy counts the healthy ones of some devices.
func Healthy(devices []Device) (n int) {
	for _, d := range devices {
		if d.Healthy {
			n++
		}
	}
	return n
}

// Grants are those of a pod, by container.
type Grants map[string]Grant

// Grant holds what plugins have answered when a container was to have its devices: all that has to be put into it. It
// counts for one sandbox, because a machine that boots may find its devices under other names.
type Grant struct {
	Sandbox     string                `json:"Sandbox"` // its id
	Env         map[string]string     `json:"Env,omitempty"`
	Mounts      []GrantedMount        `json:"Mounts,omitempty"`
	Nodes       []GrantedNode         `json:"Nodes,omitempty"`
	Annotations map[string]string     `json:"Annotations,omitempty"`
	CDI         []string              `json:"CDI,omitempty"`      // names of CDI devices
	PreStart    []corev1.ResourceName `json:"PreStart,omitempty"` // whose plugins are asked before each start
}

// GrantedMount is a file or directory of the machine that a container gets with a device.
type GrantedMount struct {
	Host      string `json:"Host"`
	Container string `json:"Container"`
	ReadOnly  bool   `json:"ReadOnly,omitempty"`
}

// GrantedNode is a device file of the machine that a container gets.
type GrantedNode struct {
	Host        string `json:"Host"`
	Container   string `json:"Container"`
	Permissions string `json:"Permissions"` // of r, w and m
}

// ReadyDevices has the plugins of a container's devices make them ready for its next run. Their answer is recorded
// once for each sandbox.
type ReadyDevices struct {
	Container string
	Attempt   uint32
	SandboxID string
}

// DevicesTarget names the target of making a container's devices ready.
func DevicesTarget(container string) string { return "devices/" + container }

func (a ReadyDevices) Target() string { return DevicesTarget(a.Container) }
func (a ReadyDevices) String() string {
	return fmt.Sprintf("make the devices of container %s ready for attempt %d in sandbox %s", a.Container, a.Attempt, a.SandboxID)
}

// About says that a plugin may take its time, and that what else the pod needs goes on meanwhile.
func (a ReadyDevices) About() About {
	return About{
		Container: a.Container, Attempt: a.Attempt, Numbered: true, Place: OnMachine, Nature: Slow,
		Rest: Rest{time.Second, 20 * time.Second},
	}
}

// DeviceHealth says how a device of a pod is.
type DeviceHealth struct {
	Resource corev1.ResourceName
	ID       string
	Health   corev1.ResourceHealthStatus
}
