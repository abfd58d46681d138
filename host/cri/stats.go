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

// PodStats says what each pod that runs uses, and each container in it.
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

// eachPodStats asks pod by pod: containerd gives no list at all while one pod of it
// comes or goes. That one is left out.
func (s *Stats) eachPodStats(ctx context.Context) ([]*runtimeapi.PodSandboxStats, error) {
	ready := &runtimeapi.PodSandboxFilter{State: &runtimeapi.PodSandboxStateValue{State: runtimeapi.PodSandboxState_SANDBOX_READY}}
	list, err := s.conn.runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{Filter: ready})
	if err != nil {
		return nil, explain(err, "list pods that use something")
	}
	var told []*runtimeapi.PodSandboxStats
	var last error
	for _, pod := range list.GetItems() {
		reply, err := s.conn.runtime.PodSandboxStats(ctx, &runtimeapi.PodSandboxStatsRequest{PodSandboxId: pod.GetId()})
		if err != nil {
			last = err
			continue
		}
		told = append(told, reply.GetStats())
	}
	if last != nil && (len(told) == 0 || ctx.Err() != nil) { // it is not about one pod
		return nil, explain(last, "ask what pods use")
	}
	return told, nil
}

// Layers says what the containers that run have written over the files of their images,
// among other things.
func (s *Stats) Layers(ctx context.Context) ([]*runtimeapi.ContainerStats, error) {
	return s.layers(ctx, nil)
}

// PodLayers returns how many bytes each container of a pod has written over its image.
func (s *Stats) PodLayers(ctx context.Context, uid types.UID) (map[string]int64, error) {
	told, err := s.layers(ctx, &runtimeapi.ContainerStatsFilter{
		LabelSelector: map[string]string{kubelettypes.KubernetesPodUIDLabel: string(uid)},
	})
	sums := map[string]int64{}
	for _, c := range told {
		sums[c.GetAttributes().GetMetadata().GetName()] += int64(c.GetWritableLayer().GetUsedBytes().GetValue())
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

// ImageUsage says how much of which file system images take.
func (s *Stats) ImageUsage(ctx context.Context) (*runtimeapi.FilesystemUsage, error) {
	ctx, cancel := s.conn.request(ctx)
	defer cancel()
	reply, err := s.conn.images.ImageFsInfo(ctx, &runtimeapi.ImageFsInfoRequest{})
	if err != nil {
		return nil, explain(err, "ask where images lie")
	}
	if len(reply.GetImageFilesystems()) == 0 {
		return nil, fmt.Errorf("ask where images lie: the runtime does not say: %w", node.ErrUnsupported)
	}
	return reply.GetImageFilesystems()[0], nil
}
