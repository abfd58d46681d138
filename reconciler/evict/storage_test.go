package evict

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
)

// pod has a volume data and containers a and b. An empty limit is none.
func pod(sizeLimit, a, b string) *corev1.Pod {
	data := corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	if sizeLimit != "" {
		data.EmptyDir.SizeLimit = new(resource.MustParse(sizeLimit))
	}
	return &corev1.Pod{Spec: corev1.PodSpec{
		Volumes:    []corev1.Volume{data, {Name: "idle", VolumeSource: data.VolumeSource}},
		Containers: []corev1.Container{container("a", a), container("b", b)},
	}}
}

func container(name, limit string) corev1.Container {
	c := corev1.Container{Name: name, VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}}
	if limit != "" {
		c.Resources.Limits = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse(limit)}
	}
	return c
}

func inMemory(p *corev1.Pod) *corev1.Pod {
	p.Spec.Volumes[0].EmptyDir.Medium = corev1.StorageMediumMemory
	return p
}

func TestOnlyLimitedVolumesAndContainersAreMeasured(t *testing.T) {
	for _, c := range []struct {
		name       string
		pod        *corev1.Pod
		volumes    []string
		containers bool
	}{
		{"a pod without limits", pod("", "", ""), nil, false},
		{"a volume with a limit, and not one that nobody mounts", pod("1Mi", "", ""), []string{"data"}, false},
		{"a container with a limit, and all that is written beside it", pod("", "1Mi", ""), []string{"data"}, true},
		{"a volume in memory, which the kernel bounds", inMemory(pod("1Mi", "", "")), nil, false},
		{"a limit of nothing is none", pod("0", "0", ""), nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			volumes, containers := Bound(c.pod)
			if !slices.Equal(volumes, c.volumes) || containers != c.containers {
				t.Errorf("got %q, %t, want %q, %t", volumes, containers, c.volumes, c.containers)
			}
		})
	}
}

func TestOveruse(t *testing.T) {
	const mega = 1 << 20
	wrote := func(data, a, b int64) node.Written {
		return node.Written{Volumes: map[string]int64{"data": data}, Containers: map[string]int64{"a": a, "b": b}}
	}
	for _, c := range []struct {
		name    string
		pod     *corev1.Pod
		written node.Written
		over    Limit
		want    string
	}{
		{"nothing is known", pod("1Mi", "1Mi", "1Mi"), node.Written{}, LimitNone, ""},
		{"as much as it may", pod("1Mi", "", ""), wrote(mega, 0, 0), LimitNone, ""},
		{"a volume over its limit", pod("1Mi", "", ""), wrote(mega+1, 0, 0), LimitVolume, `Usage of EmptyDir volume "data" exceeds the limit "1Mi".`},
		{"a container over its limit", pod("", "1Mi", "4Mi"), wrote(0, 2*mega, 0), LimitContainer, `Container a exceeded its local ephemeral storage limit "1Mi".`},
		{"together they are over, and none is alone", pod("", "2Mi", "2Mi"), wrote(2*mega, 2*mega, mega), LimitPod,
			"Pod ephemeral local storage usage exceeds the total limit of containers 4Mi."},
		{"the volume is named before the rest", pod("1Mi", "1Mi", ""), wrote(2*mega, 2*mega, 0), LimitVolume, `Usage of EmptyDir volume "data" exceeds the limit "1Mi".`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if over, got := Overuse(c.pod, c.written); over != c.over || got != c.want {
				t.Errorf("got %q, %q, want %q, %q", over, got, c.over, c.want)
			}
		})
	}
}
