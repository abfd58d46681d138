package workload

import (
	"context"
	"fmt"
	"maps"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/workload/decide"
)

// look reads the workloads of the node, and then its pods if there are any: a pod that a workload has made cannot be missing.
func (r *Runner) look(ctx context.Context) (decide.World, error) {
	w := decide.World{Now: r.Clock(), Zone: time.LoadLocation, Trouble: map[types.UID]string{}, Taken: map[types.NamespacedName]bool{}}
	if err := r.lookAtObjects(ctx, &w); err != nil || w.Empty() {
		clear(r.trouble)
		return w, err
	}
	r.recall(&w)
	answer, err := r.pods.ListPods(ctx, &nodev1.ListPodsRequest{})
	if err != nil {
		return w, fmt.Errorf("list the pods: %w", err)
	}
	for _, m := range answer.GetPods() {
		w.Taken[types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}] = true
		pod := new(corev1.Pod)
		if err := read(m.GetObject(), pod); err != nil {
			return w, fmt.Errorf("pod %s/%s: %w", m.GetNamespace(), m.GetName(), err)
		}
		w.Everyone = append(w.Everyone, pod)
		if node.Source(m.GetSource()) == node.SourceAPI {
			w.Pods = append(w.Pods, pod)
		}
	}
	return w, nil
}

// recall says why pods of the present workloads could not be made, and forgets the others.
func (r *Runner) recall(w *decide.World) {
	for _, uid := range w.Makers() {
		if t, there := r.trouble[uid]; there {
			w.Trouble[uid] = t.why
		}
	}
	maps.DeleteFunc(r.trouble, func(uid types.UID, _ trouble) bool { return w.Trouble[uid] == "" })
}

func (r *Runner) lookAtObjects(ctx context.Context, w *decide.World) (err error) {
	if w.Deployments, err = list[*appsv1.Deployment](ctx, r, node.Deployment); err != nil {
		return err
	}
	if w.ReplicaSets, err = list[*appsv1.ReplicaSet](ctx, r, node.ReplicaSet); err != nil {
		return err
	}
	if w.Jobs, err = list[*batchv1.Job](ctx, r, node.Job); err != nil {
		return err
	}
	if w.CronJobs, err = list[*batchv1.CronJob](ctx, r, node.CronJob); err != nil {
		return err
	}
	if err := r.lookAtSets(ctx, w); err != nil {
		return err
	}
	return r.lookAtServices(ctx, w)
}

// lookAtServices reads the services and their endpoints, once the node knows how its pods are.
func (r *Runner) lookAtServices(ctx context.Context, w *decide.World) (err error) {
	if !r.knowsPods() {
		return nil
	}
	if w.Services, err = list[*corev1.Service](ctx, r, node.Service); err != nil {
		return err
	}
	w.Slices, err = list[*discoveryv1.EndpointSlice](ctx, r, node.EndpointSlice)
	return err
}

// lookAtSets reads DaemonSets and StatefulSets, and what belongs to them.
func (r *Runner) lookAtSets(ctx context.Context, w *decide.World) (err error) {
	if w.DaemonSets, err = list[*appsv1.DaemonSet](ctx, r, node.DaemonSet); err != nil {
		return err
	}
	if w.StatefulSets, err = list[*appsv1.StatefulSet](ctx, r, node.StatefulSet); err != nil {
		return err
	}
	if len(w.StatefulSets) > 0 {
		if w.Claims, err = list[*corev1.PersistentVolumeClaim](ctx, r, node.PersistentVolumeClaim); err != nil {
			return err
		}
	}
	if len(w.DaemonSets)+len(w.StatefulSets) > 0 {
		if w.Revisions, err = list[*appsv1.ControllerRevision](ctx, r, node.ControllerRevision); err != nil {
			return err
		}
	}
	return r.lookAtNode(ctx, w)
}

// lookAtNode reads what DaemonSets depend on, if there are any.
func (r *Runner) lookAtNode(ctx context.Context, w *decide.World) (err error) {
	if len(w.DaemonSets) == 0 {
		return nil
	}
	found, err := r.node.GetNode(ctx, &nodev1.GetNodeRequest{})
	if err != nil {
		return fmt.Errorf("look at the node: %w", err)
	}
	w.Node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: found.GetName(), Labels: found.GetLabels()}}
	for _, t := range found.GetTaints() {
		w.Node.Spec.Taints = append(w.Node.Spec.Taints, corev1.Taint{Key: t.GetKey(), Value: t.GetValue(), Effect: corev1.TaintEffect(t.GetEffect())})
	}
	return nil
}

// knowsPods reports whether the node has seen its pods since it started. Before that none would be ready.
func (r *Runner) knowsPods() bool {
	if r.Known == nil {
		return true
	}
	select {
	case <-r.Known:
		return true
	default:
		return false
	}
}

// kept has a job of a file or a URL stay after its time: it goes with its file.
func kept(value any, m *nodev1.Object) {
	job, ok := value.(*batchv1.Job)
	if from := node.Source(m.GetSource()); ok && from != "" && from != node.SourceAPI {
		job.Spec.TTLSecondsAfterFinished = nil
	}
}

// list returns the objects of a kind.
func list[T node.Value](ctx context.Context, r *Runner, of node.ObjectKind) ([]T, error) {
	all, err := r.list(ctx, of)
	values := make([]T, len(all))
	for i := range all {
		values[i] = all[i].(T)
	}
	return values, err
}

// list returns the objects of a kind, each with its kind and with the revision of its last change.
func (r *Runner) list(ctx context.Context, of node.ObjectKind) (all []node.Value, err error) {
	kind, _ := node.KindNamed(string(of))
	answer, err := r.objects.ListObjects(ctx, &nodev1.ListObjectsRequest{Kind: kind.Plural})
	if err != nil {
		return nil, fmt.Errorf("list the %s: %w", kind.Plural, err)
	}
	for _, m := range answer.GetObjects() {
		value := kind.New()
		if err := read(m.GetObject(), value); err != nil {
			return nil, fmt.Errorf("%s %s/%s: %w", of, m.GetNamespace(), m.GetName(), err)
		}
		value.GetObjectKind().SetGroupVersionKind(kind.GroupVersionKind())
		value.SetResourceVersion(fmt.Sprint(m.GetRevision()))
		kept(value, m)
		all = append(all, value)
	}
	return all, nil
}

func read(from *structpb.Struct, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(from.AsMap(), into)
}
