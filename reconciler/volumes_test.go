package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/host/cri/spec"
	"nodal/node"
	"nodal/node/intake"
	"nodal/reconciler"
	"nodal/reconciler/gc"
	sim "nodal/sim/cri"
)

// volumes notes which volumes are laid out, and fails where a test wants it to.
type volumes struct {
	mu      sync.Mutex
	missing map[string]bool // volumes that cannot be laid out
	setUps  map[string]int  // by name
	pods    map[types.UID]bool

	reclaimed []string // PersistentVolumes
}

var (
	_ reconciler.Volumes     = (*volumes)(nil)
	_ reconciler.VolumeFiles = (*volumes)(nil)
)

func newVolumes() *volumes {
	return &volumes{missing: map[string]bool{}, setUps: map[string]int{}, pods: map[types.UID]bool{}}
}

func (v *volumes) SetUp(_ context.Context, pod *node.Pod, name string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.setUps[name]++
	if v.missing[name] {
		return &node.Failure{Reason: node.FailedMount, Err: fmt.Errorf("volume %s is missing", name)}
	}
	v.pods[pod.UID()] = true
	return nil
}

func (v *volumes) TearDown(_ context.Context, uid types.UID) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.pods, uid)
	return nil
}

func (v *volumes) Left(_ context.Context, volume *corev1.PersistentVolume) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !slices.Contains(v.reclaimed, volume.Name), nil
}

func (v *volumes) Reclaim(_ context.Context, volume *corev1.PersistentVolume) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.missing[volume.Name] {
		return errors.New("the disk is away")
	}
	v.reclaimed = append(v.reclaimed, volume.Name)
	return nil
}

func (v *volumes) Sweep(_ context.Context, keep func(types.UID) bool) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for uid := range v.pods {
		if !keep(uid) {
			delete(v.pods, uid)
		}
	}
	return nil
}

func (v *volumes) Garbage(_ context.Context, keep func(types.UID) bool) (found []node.Garbage, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for uid := range v.pods {
		if !keep(uid) {
			found = append(found, node.Garbage{Kind: node.GarbageFiles, Name: string(uid), Why: "its pod is gone"})
		}
	}
	return found, nil
}

func (v *volumes) miss(name string, missing bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.missing[name] = missing
}

func (v *volumes) count(name string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.setUps[name]
}

// laid are the pods that have volumes.
func (v *volumes) laid() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var uids []string
	for uid := range v.pods {
		uids = append(uids, string(uid))
	}
	slices.Sort(uids)
	return uids
}

func withConfig(object *corev1.Pod) *corev1.Pod {
	object.Spec.Volumes = []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "settings"},
		}}},
		{Name: "unused", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	object.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: "/config"}}
	return object
}

func (b *bench) post(value string) {
	b.Helper()
	object := node.NewObject(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}, Data: map[string]string{"v": value},
	})
	if _, _, err := b.intake.Apply([]intake.Delivery{{Object: object}}, time.Now()); err != nil {
		b.Fatal(err)
	}
}

func TestVolumesAreLaidOutAndKeptUpToDate(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.volumes.miss("config", true)
		b.apply(withConfig(pod("web")))
		b.rest(500 * time.Millisecond)
		b.wantState("web", "Pending ContainerCreating restarts=0 ready=false")
		s := b.status("web")
		if s.Reason != node.FailedMount || s.Message != "volume config is missing" || s.ContainerStatuses[0].State.Waiting.Message != s.Message {
			b.Errorf("status says %q, %q, want why it waits", s.Reason, s.Message)
		}
		if told := b.reasons(of("web")); !strings.Contains(told, node.FailedMount) {
			b.Errorf("events are %s, want %s among them", told, node.FailedMount)
		}
		b.wantEffects(map[sim.EffectKind]int{sim.ContainerCreated: 0})

		b.volumes.miss("config", false)
		b.post("one") // wakes it at once
		b.rest(100 * time.Millisecond)
		b.wantState("web", "Running running restarts=0 ready=true")

		before := b.volumes.count("config")
		b.post("two")
		b.rest(100 * time.Millisecond)
		if got := b.volumes.count("config") - before; got != 1 {
			b.Errorf("for one change it was brought up to date %d times", got)
		}
		b.wantState("web", "Running running restarts=0 ready=true")
		if got := b.volumes.count("unused"); got != 0 {
			b.Errorf("a volume that nobody mounts was laid out %d times", got)
		}

		b.delete("web", time.Second)
		b.rest(3 * time.Second)
		b.wantGone("web")
		if laid := b.volumes.laid(); len(laid) > 0 {
			b.Errorf("the volumes of %v are left", laid)
		}
	})
}

func TestVolumesWithoutAPodAreSwept(t *testing.T) {
	inBubble(t, true, func(b *bench) {
		b.apply(withConfig(pod("web")))
		b.rest(time.Second)
		b.volumes.pods["gone"] = true
		b.stop()
		b.start()
		b.rest(time.Second)
		if laid := b.volumes.laid(); len(laid) != 2 {
			b.Errorf("laid out is %v; nothing may go before every source has delivered", laid)
		}
		b.sources.Delivered(node.SourceFile, time.Now(), nil)
		b.rest(time.Second)
		if laid := b.volumes.laid(); len(laid) != 1 || laid[0] == "gone" {
			b.Errorf("laid out is %v, want what the pod has", laid)
		}
	})
}

// imageMounts mounts the images that are volumes, and nothing else.
func imageMounts(run spec.Run) (extras spec.Extras, err error) {
	for _, m := range run.Container.VolumeMounts {
		if id, ok := run.VolumeImages[m.Name]; ok {
			image := &runtimeapi.Mount{ContainerPath: m.MountPath, Readonly: true, Image: &runtimeapi.ImageSpec{Image: id}}
			extras.Mounts = append(extras.Mounts, image)
		}
	}
	return extras, nil
}

func withImage(object *corev1.Pod) *corev1.Pod {
	object.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		Image: &corev1.ImageVolumeSource{Reference: "data:1", PullPolicy: corev1.PullIfNotPresent},
	}}}
	object.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	return object
}

func TestAnImageThatIsAVolumeStaysOrComesBack(t *testing.T) {
	inBubble(t, false, func(b *bench) {
		b.apply(withImage(pod("web", "exit", "1", "after", "1m")))
		b.rest(time.Second)
		b.wantState("web", "Running running restarts=0 ready=true")
		mounted := func() *node.LocalImage {
			image, err := b.images.Image(b.Context(), "data:1")
			if err != nil {
				b.Fatal(err)
			}
			return image
		}
		image := mounted()
		b.stop()
		b.start() // it forgets what it has made ready
		b.rest(time.Second)
		c := gc.Collector{Store: b.store, Images: b.images, Events: b.events, Clock: time.Now}
		if _, err := c.Remove(b.Context(), image.ID); !errors.Is(err, node.ErrConflict) || !strings.Contains(err.Error(), "default/web") {
			b.Errorf("removed for the asking: %v, want that the pod uses it", err)
		}

		if err := b.images.RemoveImage(b.Context(), image.ID); err != nil {
			b.Fatal(err)
		}
		b.rest(80 * time.Second) // it ends, and cannot be made again as it was
		b.wantState("web", "Running running restarts=1 ready=true")
		if mounted() == nil {
			b.Error("the image is not there")
		}

		b.delete("web", time.Second)
		b.rest(10 * time.Second)
		b.wantGone("web")
		if _, err := c.Remove(b.Context(), image.ID); err != nil {
			b.Errorf("unused it stays: %v", err)
		}
	})
}
