package reconciler

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	storagev1 "k8s.io/api/storage/v1"

	"nodal/node"
	"nodal/node/store"
	"nodal/reconciler/decide"
)

// Publications are the volumes that CSI drivers have published for pods.
type Publications interface {
	// Published returns when a volume was last published for its pod; the zero value if the pod does not have it.
	Published(ctx context.Context, volume node.PublishedVolume) (time.Time, error)
	// Republish has the driver publish a volume again. It leaves one that the pod does not have, or no longer.
	Republish(ctx context.Context, volume node.PublishedVolume) error
}

// PublishedVolumes are the volumes of pods that their drivers want to publish again and again. drivers returns the drivers
// that want that now, of returns the volumes that a pod has of them, and the board tells of publications. They are no part
// of the pods' own steps: a pod that runs is not harmed if one fails.
func PublishedVolumes(
	drivers func() []string, of func(*node.Pod, []string) []string, board Board, volumes Publications,
) KindOf[node.PublishedVolume, time.Time] {
	return KindOf[node.PublishedVolume, time.Time]{
		Name: "PublishedVolume", OfPods: true, Boards: []Board{board}, Plan: decide.PublishedVolume,
		Wanted: func(pods iter.Seq[*node.Pod]) (wanted []Wanted[node.PublishedVolume]) {
			those := drivers()
			if len(those) == 0 {
				return nil // a node without such drivers does not look through its pods
			}
			for pod := range pods {
				for _, name := range of(pod, those) {
					wanted = append(wanted, Wanted[node.PublishedVolume]{
						Name: string(pod.UID()) + "/" + name, Want: node.PublishedVolume{Pod: pod, Name: name},
					})
				}
			}
			return wanted
		},
		Look: volumes.Published,
		Do: func(ctx context.Context, action node.Action) error {
			switch action := action.(type) {
			case node.RepublishVolume:
				return volumes.Republish(ctx, action.Volume)
			}
			return fmt.Errorf("%s: published volumes have no such action: %w", action, node.ErrUnsupported)
		},
	}
}

// DrivenOf returns the question which volumes a pod has of some drivers. A pod that has finished has none any more.
func DrivenOf(s *store.Store) func(*node.Pod, []string) []string {
	return func(pod *node.Pod, drivers []string) (names []string) {
		if finishedIn(s, pod) {
			return nil
		}
		for v := range node.MountedVolumes(&pod.Object.Spec) {
			driver := ""
			if v.CSI != nil {
				driver = v.CSI.Driver
			} else if lasting := boundTo(s, pod, v); lasting != nil && lasting.Spec.CSI != nil {
				driver = lasting.Spec.CSI.Driver
			}
			if slices.Contains(drivers, driver) {
				names = append(names, v.Name)
			}
		}
		return names
	}
}

// Republishing returns the question which drivers want their volumes published again and again, as their CSIDriver objects say.
// It looks through the objects only after a change of one. It is for one goroutine.
func Republishing(s *store.Store) func() []string {
	var names []string
	read := int64(-1)
	return func() []string {
		changed := s.ObjectsChanged()
		if changed == read {
			return names
		}
		objects, _ := s.Objects(node.CSIDriverObject)
		read, names = changed, nil
		for _, o := range objects {
			if asks := node.As[*storagev1.CSIDriver](o).Spec.RequiresRepublish; asks != nil && *asks {
				names = append(names, o.Ref().Name)
			}
		}
		return names
	}
}
