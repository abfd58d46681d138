package stats

import (
	"context"
	"time"

	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	kubelettypes "k8s.io/kubelet/pkg/types"
)

// layersAge is the age at which the sizes of writable layers are read again. Runtimes
// measure them no more often, because it takes a walk through the files.
const layersAge = 10 * time.Second

// layers holds the sizes of containers' writable layers.
type layers struct {
	taken time.Time
	known map[[2]string]*statsapi.FsStats // by the pod's UID and the container's name
}

// readLayers asks the runtime, unless the last answer is recent.
func (c *Collector) readLayers(ctx context.Context) (func(*collection), error) {
	if time.Since(c.layers.taken) < layersAge {
		return func(*collection) {}, nil
	}
	from, err := c.config.Runtime.Layers(ctx)
	if err != nil {
		return nil, err
	}
	known := make(map[[2]string]*statsapi.FsStats, len(from))
	for _, s := range from {
		uid := s.GetAttributes().GetLabels()[kubelettypes.KubernetesPodUIDLabel]
		if layer := s.GetWritableLayer(); layer != nil && uid != "" {
			known[[2]string{uid, s.GetAttributes().GetMetadata().GetName()}] = layerOf(layer)
		}
	}
	return func(*collection) { c.layers = layers{time.Now(), known} }, nil
}

// addTo sets the missing Rootfs figures of containers from the sizes of their writable layers. If the
// disk below is known, its capacity and free space are added.
func (l layers) addTo(pods []statsapi.PodStats, disk *statsapi.RuntimeStats) {
	for i := range pods {
		for k := range pods[i].Containers {
			of := &pods[i].Containers[k]
			layer := l.known[[2]string{pods[i].PodRef.UID, of.Name}]
			if of.Rootfs != nil || layer == nil {
				continue
			}
			of.Rootfs = layer
			if disk != nil && disk.ContainerFs != nil {
				whole := *disk.ContainerFs
				whole.Time, whole.UsedBytes, whole.InodesUsed = layer.Time, layer.UsedBytes, layer.InodesUsed
				of.Rootfs = &whole
			}
		}
	}
}
