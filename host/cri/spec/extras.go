package spec

import (
	"maps"
	"slices"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Extras holds the parts of a container's configuration that do not come from its own spec.
type Extras struct {
	Env         []*runtimeapi.KeyValue // a variable of the spec replaces one of the same name
	Mounts      []*runtimeapi.Mount
	Devices     []*runtimeapi.Device
	Annotations map[string]string // the agent's own replace one of the same name
	CDIDevices  []string          // full names: "vendor.example/class=name"
}

// Contributor returns the extras of a run: of its volumes, of the devices that it was given, and so on.
type Contributor func(Run) (Extras, error)

// Collect asks each contributor and joins its extras to those of the ones before it.
func Collect(run Run, contributors []Contributor) (Extras, error) {
	var all Extras
	for _, contribute := range contributors {
		more, err := contribute(run)
		if err != nil {
			return Extras{}, err
		}
		all.add(more)
	}
	return all, nil
}

func (e *Extras) add(more Extras) {
	e.Env = append(e.Env, more.Env...)
	e.Mounts = append(e.Mounts, more.Mounts...)
	e.Devices = append(e.Devices, more.Devices...)
	if e.Annotations == nil {
		e.Annotations = map[string]string{}
	}
	maps.Copy(e.Annotations, more.Annotations)
	for _, name := range more.CDIDevices {
		if !slices.Contains(e.CDIDevices, name) { // two claims may share a device
			e.CDIDevices = append(e.CDIDevices, name)
		}
	}
}

func (e Extras) cdiDevices() []*runtimeapi.CDIDevice {
	var devices []*runtimeapi.CDIDevice
	for _, name := range e.CDIDevices {
		devices = append(devices, &runtimeapi.CDIDevice{Name: name})
	}
	return devices
}
