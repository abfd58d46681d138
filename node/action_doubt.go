package node

import "maps"

// An action that fails may leave it open how things are. Doubt takes that out of what is known, so that it is found
// out or done again.

// Doubt forgets all parts of a facility if a set-up that fails may have changed them.
func (a SetUp) Doubt(o *Observed) {
	if declared[a.Facility].torn {
		o.Laid[a.Facility].Parts = nil
	}
}

// Doubt forgets all parts: some of them may be gone.
func (a TearDown) Doubt(o *Observed) { o.Laid[a.Facility].Parts = nil }

// Doubt forgets the images of the container and those that the pod mounts: the failure may mean that one is gone.
func (a CreateContainer) Doubt(o *Observed) {
	delete(o.Images, a.Container)
	o.Laid[Volumes].Parts = maps.Clone(o.Laid[Volumes].Parts)
	maps.DeleteFunc(o.Laid[Volumes].Parts, func(_ string, part Part) bool { return part.Image != "" })
}

// Doubt forgets that the container's devices are ready: the run may have begun with them, and the next one needs them
// ready again.
func (a StartContainer) Doubt(o *Observed) { delete(o.Readied, a.Container) }

// Doubt forgets the container's limits: it may have the new ones or the old.
func (a ResizeContainer) Doubt(o *Observed) {
	for i := range o.Containers {
		if c := &o.Containers[i]; c.ID == a.ID {
			c.Limits = nil
		}
	}
}
