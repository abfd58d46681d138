package member

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

// storageOf is a list with a size; none if it is empty.
func storageOf(size string) corev1.ResourceList {
	if size == "" {
		return nil
	}
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

func TestWhenAVolumeHasToGrowOnTheNode(t *testing.T) {
	const pending, infeasible = corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInfeasible
	for _, c := range []struct {
		name              string
		has, whole, asked string
		status            corev1.ClaimResourceStatus
		mode              corev1.PersistentVolumeAccessMode
		want              string // its size; none if it has not to grow
	}{
		{name: "it has its size", has: "1Gi", whole: "1Gi"},
		{name: "it is greater than its claim knows", has: "1Gi", whole: "2Gi", want: "2Gi"},
		{name: "its claim knows no size", whole: "2Gi"},
		{name: "the controller says that it is the node's turn", has: "1Gi", whole: "3Gi", asked: "2Gi", status: pending, want: "2Gi"},
		{name: "the controller has not said so yet", has: "1Gi", whole: "2Gi", asked: "2Gi"},
		{name: "a node has found that it cannot be", has: "1Gi", whole: "2Gi", asked: "2Gi", status: infeasible},
		{name: "another node has told the claim", has: "2Gi", whole: "2Gi", mode: corev1.ReadWriteMany, want: "2Gi"},
	} {
		claim, volume := &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}
		claim.Status.Capacity, claim.Status.AllocatedResources, volume.Spec.Capacity = storageOf(c.has), storageOf(c.asked), storageOf(c.whole)
		volume.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{c.mode}
		if c.status != "" {
			claim.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: c.status}
		}
		size, due := growthOf(claim, volume)
		if got := size.String(); due != (c.want != "") || due && got != c.want {
			t.Errorf("%s: got %s, %t; want %q", c.name, got, due, c.want)
		}
		if got := ungrown(claim, volume).Spec.Capacity.Storage().String(); c.has != "" && got != c.has {
			t.Errorf("%s: the node gets it with %s first, want %s", c.name, got, c.has)
		}
	}
}

// resizable stands for a cluster with a claim and its volume.
type resizable struct {
	mu     sync.Mutex
	claim  corev1.PersistentVolumeClaim
	volume corev1.PersistentVolume
	told   []string // what the status of the claim was patched with
}

func newResizable() *resizable {
	r := &resizable{}
	r.claim.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
	r.claim.ObjectMeta = metav1.ObjectMeta{Namespace: "default", Name: "data", UID: "c1", ResourceVersion: "7"}
	r.claim.Spec.VolumeName, r.claim.Status.Phase, r.claim.Status.Capacity = "pv", corev1.ClaimBound, storageOf("1Gi")
	r.claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending}, {Type: "Other"}}
	r.volume.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}
	r.volume.Name, r.volume.Spec.ClaimRef = "pv", &corev1.ObjectReference{Namespace: "default", Name: "data", UID: "c1"}
	r.volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "disk", VolumeHandle: "v"}
	r.volume.Spec.Capacity = storageOf("1Gi")
	return r
}

func (r *resizable) answer(q *http.Request) (int, any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case q.Method == http.MethodPatch:
		body, err := io.ReadAll(q.Body)
		r.told = append(r.told, q.URL.Path+" "+string(body))
		r.claim.Status.Capacity = r.volume.Spec.Capacity
		return http.StatusOK, r.claim.DeepCopy(), err
	case strings.Contains(q.URL.Path, "claims"):
		return http.StatusOK, r.claim.DeepCopy(), nil
	}
	return http.StatusOK, r.volume.DeepCopy(), nil
}

func (r *resizable) heard() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.told)
}

func (r *resizable) grow(size string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.volume.Spec.Capacity = storageOf(size)
}

func TestTheClusterLearnsThatAVolumeHasGrownOnceTheNodeHasDoneItsPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ref := node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: "default", Name: "data"}
		server, shelf := newResizable(), &stock{}
		shelf.keep(t, ref, node.Cluster, nil)
		o := &objects{cluster: apiServer(server.answer).dial(t), node: shelf.shelf(), log: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithCancel(t.Context())
		held := server.volume.DeepCopy()
		metav1.SetMetaDataAnnotation(&held.ObjectMeta, node.AnnotationAttached, "{}")
		ended := make(chan struct{})
		go func() { o.keepSize(ctx, ref, held); close(ended) }()

		time.Sleep(2 * time.Minute)
		if told := shelf.heard(); len(told) > 0 {
			t.Errorf("the node has heard %q of a volume that has not grown", told)
		}
		server.grow("2Gi")
		time.Sleep(5 * time.Minute)
		if told := shelf.heard(); len(told) != 1 || told[0] != "put PersistentVolume pv" || len(server.heard()) > 0 {
			t.Errorf("the node has heard %q, and the cluster %q before the node has done its part", told, server.heard())
		}
		status, err := structpb.NewStruct(map[string]any{"capacity": map[string]any{"storage": "2Gi"}})
		if err != nil {
			t.Fatal(err)
		}
		shelf.mu.Lock()
		grown := proto.CloneOf(shelf.objects[ref])
		grown.Fields["status"] = structpb.NewStructValue(status)
		shelf.objects[ref] = grown
		shelf.mu.Unlock()
		time.Sleep(5 * time.Minute)
		cancel()
		<-ended
		want := map[string]any{
			"metadata": map[string]any{"resourceVersion": "7"},
			"status": map[string]any{
				"capacity": map[string]any{"storage": "2Gi"}, "allocatedResourceStatuses": map[string]any{"storage": nil},
				"conditions": []any{map[string]any{"$patch": "delete", "type": "FileSystemResizePending"}},
			},
		}
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		path := "/api/v1/namespaces/default/persistentvolumeclaims/data/status "
		if told := server.heard(); len(told) != 1 || told[0] != path+string(text) {
			t.Errorf("the cluster has heard %q, want %s once", told, path+string(text))
		}
	})
}
