package stats

import (
	"context"
	"slices"

	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"nodal/node"
)

// claimed finds only those volumes of a pod that it has by claims.
type claimed struct{ Disk }

func (c claimed) Places(pod *node.Pod) ([]node.DiskPlace, error) {
	all, err := c.Disk.Places(pod)
	var places []node.DiskPlace
	for _, p := range all {
		if p.Claim != "" {
			places = append(places, p)
		}
	}
	return places, err
}

// Claims returns the usage of the volumes of claims, at most a minute old. The
// result is partial if there is an error, which names what is missing.
func (c *Collector) Claims(ctx context.Context) ([]statsapi.VolumeStats, error) {
	if c.config.Disk == nil {
		return nil, nil
	}
	pods := slices.DeleteFunc(c.present(), func(pod *node.Pod) bool { return !hasClaim(pod) })
	if len(pods) == 0 {
		return nil, nil
	}
	known, err := c.claims.read(ctx, pods)
	var volumes []statsapi.VolumeStats
	for _, pod := range pods {
		if found := known[pod.UID()]; found != nil {
			volumes = append(volumes, found.volumes...)
		}
	}
	return volumes, err
}

func hasClaim(pod *node.Pod) bool {
	for i := range pod.Object.Spec.Volumes {
		if _, ok := node.ClaimName(pod.Object, &pod.Object.Spec.Volumes[i]); ok {
			return true
		}
	}
	return false
}
