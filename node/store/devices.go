package store

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// Devices is the board of the resources that device plugins and the node's configuration offer. The adapters of both
// write it. The owner of the node's offer reads it when it rings.
type Devices struct {
	mu    sync.RWMutex
	known map[corev1.ResourceName]*node.DeviceResource
	told  node.Bell
}

// NewDevices returns a board without resources.
func NewDevices() *Devices { return &Devices{known: map[corev1.ResourceName]*node.DeviceResource{}} }

// Registered says that a plugin offers a resource. Its devices cannot be had until it has listed them.
func (b *Devices) Registered(resource corev1.ResourceName, plugin string, preStart bool, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.known[resource]
	if r == nil {
		r = &node.DeviceResource{Name: resource, Found: at}
		b.known[resource] = r
	}
	r.Plugin, r.PreStart, r.Fault, r.Lost = plugin, preStart, "", time.Time{}
	r.Devices = slices.Clone(r.Devices) // readers have the former
	for i := range r.Devices {
		r.Devices[i].Healthy = false
	}
	b.told.Ring()
}

// Remembered says that a resource had a plugin when the agent before ended.
func (b *Devices) Remembered(resource corev1.ResourceName, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known[resource] == nil {
		b.known[resource] = &node.DeviceResource{
			Name: resource, Found: at, Lost: at, Fault: "its plugin has not registered since the start of the agent",
		}
		b.told.Ring()
	}
}

// Listed says which devices the plugin of a resource has now.
func (b *Devices) Listed(resource corev1.ResourceName, devices []node.Device) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.known[resource]; r != nil && !reflect.DeepEqual(r.Devices, devices) {
		r.Devices = devices
		b.told.Ring()
	}
}

// Specified says which devices of the machine's CDI specs the node offers, and what is wrong with them.
func (b *Devices) Specified(offer node.CDIOffer, devices []node.Device, fault string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.known[offer.Resource]
	if r == nil || r.CDI != offer {
		r = &node.DeviceResource{Name: offer.Resource, Found: at, CDI: offer}
		b.known[offer.Resource] = r
	} else if r.Fault == fault && reflect.DeepEqual(r.Devices, devices) {
		return
	}
	r.Devices, r.Fault = devices, fault
	b.told.Ring()
}

// Lost says that the plugin of a resource has gone away.
func (b *Devices) Lost(resource corev1.ResourceName, why string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.known[resource]; r != nil && r.Lost.IsZero() {
		r.Lost, r.Fault = at, why
		b.told.Ring()
	}
}

// Changed returns a channel that is closed when the board next changes. Take it before List.
func (b *Devices) Changed() <-chan struct{} { return b.told.Heard() }

// Len returns the number of resources.
func (b *Devices) Len() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.known)
}

// Resource returns what is known of a resource, or the zero value.
func (b *Devices) Resource(name corev1.ResourceName) node.DeviceResource {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if r := b.known[name]; r != nil {
		return *r
	}
	return node.DeviceResource{}
}

// List returns all resources by name.
func (b *Devices) List() (list []node.DeviceResource) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(b.known)) {
		list = append(list, *b.known[name])
	}
	return list
}
