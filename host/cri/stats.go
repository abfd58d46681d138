package cri

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubelettypes "k8s.io/kubelet/pkg/types"

	"nodal/node"
)

// Stats asks the container runtime what pods and images use.
type Stats struct{ conn *Conn }

// NewStats makes the Stats of a runtime.
func NewStats(conn *Conn) *Stats { return &Stats{conn} }

// PodStats returns what each running pod and each of its containers use.
func (s *Stats) PodStats(ctx context.Context) ([]*runtimeapi.PodSandboxStats, error) {
	ctx, cancel := s.conn.request(ctx)
	defer cancel()
	reply, err := s.conn.runtime.ListPodSandboxStats(ctx, &runtimeapi.ListPodSandboxStatsRequest{})
	if err == nil {
		return reply.GetStats(), nil
	}
	if ctx.Err() != nil || unimplemented(err) {
		return nil, explain(err, "list what pods use")
	}
	return s.eachPodStats(ctx)
}

// eachPodStats asks pod by pod, and leaves out a pod that comes or goes meanwhile. containerd fails a whole list
// because of one such pod.
func (s *Stats) eachPodStats(ctx context.Context) ([]*runtimeapi.PodSandboxStats, error) {
	ready := &runtimeapi.PodSandboxFilter{
		State: &runtimeapi.PodSandboxStateValue{State: runtimeapi.PodSandboxState_SANDBOX_READY},
	}
	list, err := s.conn.runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{Filter: ready})
	if err != nil {
		return nil, explain(err, "list pods that use something")
	}
	var found []*runtimeapi.PodSandboxStats
	var last error
	for _, pod := range list.GetItems() {
		reply, err := s.conn.runtime.PodSandboxStats(ctx, &runtimeapi.PodSandboxStatsRequest{PodSandboxId: pod.GetId()})
		if err != nil {
			last = err
			continue
		}
		found = append(found, reply.GetStats())
	}
	if last != nil && (len(found) == 0 || ctx.Err() != nil) { // the error is not about one pod
		return nil, explain(last, "ask what pods use")
	}
	return found, nil
}

// Layers returns the stats of all running containers, with the bytes that each has written over its image.
func (s *Stats) Layers(ctx context.Context) ([]*runtimeapi.ContainerStats, error) {
	return s.layers(ctx, nil)
}

// PodLayers returns what each container of a pod has written over its image.
func (s *Stats) PodLayers(ctx context.Context, uid types.UID) (map[string]node.Space, error) {
	found, err := s.layers(ctx, &runtimeapi.ContainerStatsFilter{
		LabelSelector: map[string]string{kubelettypes.KubernetesPodUIDLabel: string(uid)},
	})
	sums := map[string]node.Space{}
	for _, c := range found {
		name, layer := c.GetAttributes().GetMetadata().GetName(), c.GetWritableLayer()
		sums[name] = node.Space{
			Bytes:  sums[name].Bytes + int64(layer.GetUsedBytes().GetValue()),
			Inodes: sums[name].Inodes + int64(layer.GetInodesUsed().GetValue()),
		}
	}
	return sums, err
}

func (s *Stats) layers(ctx context.Context, of *runtimeapi.ContainerStatsFilter) ([]*runtimeapi.ContainerStats, error) {
	ctx, cancel := s.conn.request(ctx)
	defer cancel()
	reply, err := s.conn.runtime.ListContainerStats(ctx, &runtimeapi.ListContainerStatsRequest{Filter: of})
	if err != nil {
		return nil, explain(err, "list what containers wrote")
	}
	return reply.GetStats(), nil
}

// ImageUsage returns the file system that holds the images, and what they take of it.
func (s *Stats) ImageUsage(ctx context.Context) (*runtimeapi.FilesystemUsage, error) {
	ctx, cancel := s.conn.request(ctx)
	defer cancel()
	reply, err := s.conn.images.ImageFsInfo(ctx, &runtimeapi.ImageFsInfoRequest{})
	if err != nil {
		return nil, explain(err, "find the images' file system")
	}
	if len(reply.GetImageFilesystems()) == 0 {
		return nil, fmt.Errorf("find the images' file system: the runtime does not report it: %w", node.ErrUnsupported)
	}
	return reply.GetImageFilesystems()[0], nil
}
