package sim

import (
	"context"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/intake"
	"nodal/node/limit"
	"nodal/node/store"
	"nodal/node/trust"
	"nodal/reconciler"
)

// volumes is an agent's access to the machine's volumes, which outlive it. The world records what
// each volume was last made from.
type volumes struct {
	world *world
	store *store.Store
}

var (
	_ reconciler.Volumes     = volumes{}
	_ reconciler.VolumeFiles = volumes{}
)

// SetUp lays out a volume, unless one of its objects is missing.
func (v volumes) SetUp(_ context.Context, pod *node.Pod, name string) error {
	v.world.witness.laidOut(v.store, pod)
	v.world.homes[pod.UID()] = true
	for volume := range node.MountedVolumes(&pod.Object.Spec) {
		if volume.Name != name {
			continue
		}
		content, err := v.content(pod.Allocated(), volume)
		if claim, ok := node.ClaimName(pod.Object, volume); ok && err == nil {
			ref := node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: pod.Object.Namespace, Name: claim}
			err = v.open(ref, v.world.volumes[pod.UID()][name] == content)
		}
		if err != nil {
			return refused(node.FailedMount, "volume %s: %w", name, err)
		}
		if v.world.volumes[pod.UID()] == nil {
			v.world.volumes[pod.UID()] = map[string]string{}
		}
		v.world.volumes[pod.UID()][name] = content
	}
	return nil
}

// content returns what a volume should contain: the data of objects, the pod's labels, its
// containers' resources, and the volume of its claim.
func (v volumes) content(pod *corev1.Pod, volume *corev1.Volume) (string, error) {
	content := ""
	for _, ref := range node.VolumeRefs(pod, volume) {
		if ref.Kind == node.PersistentVolumeClaim {
			_, bound, err := v.claimed(ref)
			if err != nil {
				return "", err
			}
			return bound.Name, nil
		}
		if ref == signed() {
			bundles, _ := v.store.Objects(ref.Kind)
			anchors, err := trust.Anchors(volume.Projected.Sources[1].ClusterTrustBundle, bundles)
			if err != nil {
				return "", err
			}
			content += string(anchors)
			continue
		}
		object, ok := v.store.Object(ref)
		switch {
		case ok:
			content += fmt.Sprint(object.ConfigMap().Data)
		case volume.ConfigMap.Optional == nil:
			return "", fmt.Errorf("%s: %w", ref, node.ErrNotFound)
		}
	}
	if node.ShowsPod(volume) {
		content += fmt.Sprint(pod.Labels)
		for i := range pod.Spec.Containers {
			content += " " + pod.Spec.Containers[i].Resources.Limits.Cpu().String()
		}
	}
	return content, nil
}

func (v volumes) TearDown(_ context.Context, uid types.UID) error {
	v.world.witness.tornDown(v.world, uid)
	delete(v.world.volumes, uid)
	delete(v.world.gorged, uid)
	v.world.leave(uid)
	return nil
}

func (v volumes) Sweep(ctx context.Context, keep func(types.UID) bool) error {
	return sweep(v.world, "volumes", v.world.homes, keep, func(uid types.UID) error {
		err := v.TearDown(ctx, uid)
		delete(v.world.homes, uid)
		return err
	})
}

// Garbage finds none: this world is not asked for it.
func (volumes) Garbage(context.Context, func(types.UID) bool) ([]node.Garbage, error) {
	return nil, nil
}

// tear leaves a volume half done, as a crash does.
func (w *world) tear(c *call) {
	have := w.volumes[c.pod.UID()]
	part, isSetUp := c.action.(node.SetUp)
	switch {
	case isSetUp && part.Facility == node.Cgroup:
		w.cgroups[c.pod.UID()] = limit.Limits{}
	case isSetUp && have != nil:
		have[part.Name] = "half of it"
	case c.action == node.Action(node.TearDown{Facility: node.Volumes}) && len(have) > 0:
		delete(have, slices.Min(slices.Collect(maps.Keys(have))))
	}
}

// settings names the object that pods use.
func settings() node.ObjectRef {
	return node.ObjectRef{Kind: node.ConfigMap, Namespace: "default", Name: "settings"}
}

// signed names the bundles that pods trust.
func signed() node.ObjectRef {
	return node.ObjectRef{Kind: node.ClusterTrustBundle, Name: "sim.example/ca"}
}

// bundle returns a random bundle with new content.
func bundle(version string) *node.Object {
	return node.NewObject(&certificatesv1.ClusterTrustBundle{
		ObjectMeta: metav1.ObjectMeta{Name: "sim.example:ca:" + version[:1]},
		Spec: certificatesv1.ClusterTrustBundleSpec{
			SignerName: signed().Name, TrustBundle: string(pem.EncodeToMemory(&pem.Block{Type: trust.Certificate, Bytes: []byte(version)})),
		},
	})
}

// post changes or removes the object that pods use.
func (c *clients) post(a *agent) {
	in := c.intake(a, node.SourceAPI)
	if c.pick(8) == 0 {
		c.unclaim(a)
		return
	}
	if c.pick(4) == 0 {
		err := in.DeleteObject(settings(), c.world.clock())
		c.world.trace.addf("client: delete %s: %v", settings(), err)
		if bundles, _ := a.store.Objects(node.ClusterTrustBundle); len(bundles) > 0 {
			err := in.DeleteObject(bundles[0].Ref(), c.world.clock())
			c.world.trace.addf("client: delete %s: %v", bundles[0].Ref(), err)
		}
		return
	}
	c.provide(a)
}

// provide posts what pods need: the object and a bundle, each with new content, and their claim.
func (c *clients) provide(a *agent) {
	object := node.NewObject(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: settings().Namespace, Name: settings().Name},
		Data:       map[string]string{"v": fmt.Sprint(c.pick(1000))},
	})
	deliveries := []intake.Delivery{{Object: object}, {Object: bundle(object.ConfigMap().Data["v"])}}
	_, revision, err := c.intake(a, node.SourceAPI).Apply(deliveries, c.world.clock())
	c.world.trace.addf("client: post %s with %s: at %d, %v", settings(), object.ConfigMap().Data["v"], revision, err)
	c.letGo(a)
	c.claim(a)
}

// mounting gives a pod random volumes.
func (c *clients) mounting(pod *corev1.Pod) {
	config := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: settings().Name}}
	if c.pick(2) == 0 {
		config.Optional = new(bool)
		*config.Optional = true
	}
	for _, v := range []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: scratchLimit()}}},
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: config}},
		{Name: "info", VolumeSource: corev1.VolumeSource{Projected: info(config.Optional != nil)}},
	} {
		if c.pick(3) == 0 {
			mount := corev1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name}
			pod.Spec.Volumes = append(pod.Spec.Volumes, v)
			pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, mount)
		}
	}
}

// info returns a volume of facts about the pod, and perhaps of trusted certificates.
func info(trusting bool) *corev1.ProjectedVolumeSource {
	signer, optional := signed().Name, true
	itself := corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{}}
	if !trusting {
		return &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{itself}}
	}
	return &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		itself,
		{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{SignerName: &signer, LabelSelector: &metav1.LabelSelector{}, Optional: &optional}},
	}}
}

// laidOut checks that no volume is laid out for a pod that is gone: nothing would tear it down.
func (wi *witness) laidOut(store *store.Store, pod *node.Pod) {
	if !store.Holds(pod.UID()) {
		wi.failf("a volume was laid out for %s, uid %s, which is gone", pod.Key(), pod.UID())
	}
}

// tornDown checks that a running container keeps its volumes.
func (wi *witness) tornDown(w *world, uid types.UID) {
	for _, c := range w.containers {
		if c.uid == uid && c.running() {
			wi.failf("the volumes of %s were torn down while it ran", c)
		}
	}
}

// madeWith checks that a container finds every volume of its pod laid out.
func (wi *witness) madeWith(w *world, pod *node.Pod, c *container) {
	for volume := range node.MountedVolumes(&pod.Object.Spec) {
		if _, ok := w.volumes[pod.UID()][volume.Name]; !ok {
			wi.failf("%s was made without its volume %s", c, volume.Name)
		}
	}
}

// upToDate returns an error if a volume of a pod does not have its wanted content.
func (s *simulation) upToDate(l *life, resize *node.Resize) error {
	layout := volumes{s.world, s.agent.store}
	allocated := (&node.Pod{Object: l.object, Resize: resize}).Allocated()
	for volume := range node.MountedVolumes(&l.object.Spec) {
		want, err := layout.content(allocated, volume)
		if err != nil {
			return err
		}
		if got, ok := s.volumes[l.id.uid][volume.Name]; !ok || got != want {
			return fmt.Errorf("volume %s holds %q, want %q", volume.Name, got, want)
		}
	}
	return nil
}
