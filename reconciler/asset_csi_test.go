package reconciler

import (
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/store"
)

func TestWhichVolumesOfDriversAreWanted(t *testing.T) {
	disk := node.CSIVolume{Driver: "disk", Handle: "a"}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: disk.Driver, VolumeHandle: disk.Handle}
	pod := &node.Pod{Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}}
	looked := 0
	uses := func(*node.Pod) []*corev1.PersistentVolume {
		looked++
		return []*corev1.PersistentVolume{volume, {}}
	}
	board := store.NewPlugins(node.CSIPlugin)
	wanted := func(known ...node.CSIVolume) []Wanted[node.StagedWish] {
		return wantedStaged(slices.Values([]*node.Pod{pod}), uses, board, known)
	}
	if got := wanted(); got != nil || looked != 0 {
		t.Errorf("without drivers and volumes %+v is wanted, after %d looks at pods", got, looked)
	}
	users := []node.Key{pod.Key()}
	want := []Wanted[node.StagedWish]{{Name: "disk/a", Users: users, Want: node.StagedWish{ID: disk, Volume: volume}}}
	if got := wanted(disk); !reflect.DeepEqual(got, want) {
		t.Errorf("while its driver is away %+v is wanted, want %+v", got, want)
	}
	socket := node.PluginSocket{Name: "disk.sock"}
	board.Found([]node.PluginSocket{socket}, time.Time{})
	board.Introduced(socket, node.PluginInfo{
		Type: node.CSIPlugin, Name: "disk", Driver: &node.CSIDriver{Capabilities: []string{node.StagesVolumes}},
	}, time.Time{})
	want[0].Want.Stages = true
	if got := wanted(); !reflect.DeepEqual(got, want) {
		t.Errorf("with its driver %+v is wanted, want %+v", got, want)
	}
}
