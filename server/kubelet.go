package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
	"nodal/openapi"
	"nodal/server/metrics"
	"nodal/server/wire"
)

// kubelet serves the kubelet's own paths with upstream's methods, parameters,
// codes and bodies.
type kubelet struct {
	store   *store.Store
	render  renderers
	reader  *logService
	exec    *execService
	found   func(context.Context) (map[node.Key]*node.Observed, error)
	healthy func(context.Context) error
	stats   Stats
	facts   Facts
	agent   *metrics.Agent
	probes  func() []*node.ProbeCount
	trace   Trace
	limits  Limits
	debug   Debug
	now     func() time.Time
	paths   []string // that are served besides the node API's
	log     *slog.Logger
}

func newKubelet(cfg Config, s services) *kubelet {
	return &kubelet{
		store: cfg.Store, render: s.pods.render, reader: s.logs, exec: s.exec,
		found: cfg.RunningPods, healthy: cfg.Healthy, limits: cfg.Limits,
		stats: cfg.Stats, log: cfg.Log, trace: cfg.Trace,
		debug: cfg.Debug, now: cfg.Now,
		facts: cfg.Facts, agent: cfg.Agent, probes: cfg.Probes,
	}
}

// pods is /pods. Unlike upstream's it keeps showing a pod until it is gone.
func (k *kubelet) pods(w http.ResponseWriter, r *http.Request) {
	views, _ := k.store.Views()
	items, err := k.render.of(r.Context()).list(views, func(store.View) bool { return true })
	if err != nil {
		wire.WriteText(w, http.StatusInternalServerError, err.Error())
		return
	}
	const head, tail = `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[`, "]}"
	size := len(head) + len(tail)
	for _, item := range items {
		size += len(item.object) + 1
	}
	body := append(make([]byte, 0, size), head...)
	for i, item := range items {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, item.object...)
	}
	wire.WriteJSON(w, append(body, tail...))
}

// runningPods is /runningpods/: what the runtime runs, wanted or not.
func (k *kubelet) runningPods(w http.ResponseWriter, r *http.Request) {
	found, err := k.found(r.Context())
	if err != nil {
		wire.WriteText(w, http.StatusInternalServerError, err.Error())
		return
	}
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{}}
	for _, key := range slices.SortedFunc(maps.Keys(found), node.Key.Compare) {
		list.Items = append(list.Items, runningAt(key, found[key])...)
	}
	body, err := json.Marshal(&list)
	if err != nil {
		wire.WriteText(w, http.StatusInternalServerError, err.Error())
		return
	}
	wire.WriteJSON(w, body)
}

// runningAt returns the pods of which something runs under one name: a pod
// that is being replaced by force may share it for a moment.
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

// configz is /configz.
func (k *kubelet) configz(w http.ResponseWriter, _ *http.Request) { wire.WriteJSON(w, k.facts.Configz) }

// openapi is the description of all this.
func (k *kubelet) openapi(w http.ResponseWriter, _ *http.Request) {
	document, err := openapi.Document()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	wire.WriteJSON(w, document)
}
