package kubeletapi

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/server/auth"
	"nodal/server/wire"
)

// Pods shows pods, at /pods and /runningpods/.
type Pods struct {
	// Objects returns every pod in Kubernetes' JSON, without apiVersion and kind, as the caller may see it.
	Objects func(context.Context) ([][]byte, error)
	// Running returns the pods of the runtime, wanted or not.
	Running func(context.Context) (map[node.Key]*node.Observed, error)
}

// list answers /pods. Unlike upstream's, it shows a pod until it is gone.
func (p Pods) list(w http.ResponseWriter, r *http.Request) {
	items, err := p.Objects(r.Context())
	if err != nil {
		wire.WriteText(w, http.StatusInternalServerError, err.Error())
		return
	}
	const head, tail = `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[`, "]}"
	size := len(head) + len(tail)
	for _, item := range items {
		size += len(item) + 1
	}
	body := append(make([]byte, 0, size), head...)
	for i, item := range items {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, item...)
	}
	wire.WriteJSON(w, append(body, tail...))
}

// running answers /runningpods/.
func (p Pods) running(w http.ResponseWriter, r *http.Request) {
	found, err := p.Running(r.Context())
	if err != nil {
		wire.WriteText(w, http.StatusInternalServerError, err.Error())
		return
	}
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{}}
	for _, key := range slices.SortedFunc(maps.Keys(found), node.Key.Compare) {
		if !auth.Sees(r.Context(), key.Namespace) {
			continue
		}
		list.Items = append(list.Items, runningAt(key, found[key])...)
	}
	body, err := json.Marshal(&list)
	if err != nil {
		wire.WriteText(w, http.StatusInternalServerError, err.Error())
		return
	}
	wire.WriteJSON(w, body)
}

// runningAt returns the pods that have something running under one name. A pod that is
// being replaced by force may share its name with the next one for a moment.
func runningAt(key node.Key, got *node.Observed) []corev1.Pod {
	byUID := map[types.UID]*corev1.Pod{}
	pod := func(uid types.UID) *corev1.Pod {
		if byUID[uid] == nil {
			byUID[uid] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace, UID: uid}}
		}
		return byUID[uid]
	}
	for _, s := range got.Sandboxes {
		if s.State == node.SandboxReady {
			pod(s.UID)
		}
	}
	for _, c := range got.Containers {
		if c.State == node.ContainerRunning {
			p := pod(c.UID)
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: c.Name, Image: c.Image})
		}
	}
	var pods []corev1.Pod
	for _, uid := range slices.Sorted(maps.Keys(byUID)) {
		pods = append(pods, *byUID[uid])
	}
	return pods
}
