package decide

import (
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// images gets the image of every container that is about to be made. The images come side by side, and beside the
// sandbox.
func images(p *Plan, v *View) bool {
	if !v.prepares(p) {
		return false
	}
	for i := range v.spec.InitContainers {
		if c := &v.spec.InitContainers[i]; node.IsSidecar(c) || !v.life.Past(c) {
			v.ensure(p, c)
		}
	}
	for i := range v.spec.Containers {
		v.ensure(p, &v.spec.Containers[i])
	}
	for c := range node.EphemeralContainers(v.spec) {
		if !v.begun(c) {
			v.ensure(p, c)
		}
	}
	return false
}

// prepares reports whether the volumes and images of containers may be made ready: their sandbox is there, is about to
// be made, or rests after a failure. The same goes for what comes before the sandbox.
func (v *View) prepares(p *Plan) bool {
	if v.life.Over() {
		return false
	}
	for _, target := range []string{node.SandboxTarget(), node.CgroupTarget(), node.ClaimsTarget()} {
		if _, failed := v.got.Faults[target]; failed || p.plans(target) {
			return true
		}
	}
	return v.sandbox != nil
}

// ensure asks for the image of a container, unless a run stands in the way of the next attempt.
func (v *View) ensure(p *Plan, c *corev1.Container) {
	run := v.run(c.Name)
	if run != nil && (run.State != node.ContainerExited || v.slot.Tallies[c.Name].Restarts <= int32(run.Attempt)) {
		return
	}
	if _, ok := v.image(c); ok {
		return
	}
	p.try(v, node.EnsureImage{
		Container: c.Name, Attempt: v.nextAttempt(c.Name), Ref: c.Image, Policy: c.ImagePullPolicy,
	})
}

// image returns the id of the container's image, if it is ready for the next attempt. With policy Always each attempt
// asks the registry once more.
func (v *View) image(c *corev1.Container) (string, bool) {
	image, ok := v.got.Images[c.Name]
	if !ok || image.Ref != c.Image {
		return "", false
	}
	if c.ImagePullPolicy == corev1.PullAlways && image.Attempt != v.nextAttempt(c.Name) {
		return "", false
	}
	return image.ID, true
}
