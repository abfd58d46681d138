package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
	"nodal/workload/decide"
)

// do carries one change out. It returns when to look again; zero means that a watch tells.
func (r *Runner) do(ctx context.Context, c decide.Change) time.Time {
	now := r.Clock()
	last, failed := r.trouble[c.For]
	if due := last.at.Add(sulk); failed && c.Do == decide.MakePod && now.Before(due) {
		return due
	}
	err := r.call(ctx, c)
	switch code := status.Code(err); {
	case err == nil && c.Do == decide.MakePod:
		delete(r.trouble, c.For) // the others of its kind may try too
		return time.Time{}
	case err == nil || ctx.Err() != nil:
		return time.Time{}
	case code == codes.Aborted && c.Do == decide.MakeObject:
		return now.Add(sulk) // one with its name that a look may pass over; a watch tells of others
	case code == codes.Aborted, c.Do != decide.MakePod && code == codes.NotFound:
		return now.Add(gap) // it is not as it was
	case c.Do != decide.MakePod && code == codes.FailedPrecondition:
		return now.Add(sulk) // another one with its name, or of a file
	case c.Do == decide.MakePod:
		r.troubled(c, status.Convert(err).Message(), now)
		return now.Add(gap) // the status of a set says so
	}
	r.Log.Warn("cannot "+string(c.Do)+" of a workload", "object", nameOf(c), "err", err)
	if c.Do == decide.MakeObject {
		return now.Add(sulk)
	}
	return now.Add(retry)
}

// troubled notes why a pod could not be made. A job has no condition for that, so it is logged, once for each reason.
func (r *Runner) troubled(c decide.Change, why string, now time.Time) {
	level := slog.LevelDebug
	if was, there := r.trouble[c.For]; !there || was.why != why {
		level = slog.LevelWarn
	}
	r.trouble[c.For] = trouble{why, now}
	r.Log.Log(context.Background(), level, "cannot make a pod of a workload", "pod", c.Pod.Namespace+"/"+c.Pod.Name, "err", why)
}

func nameOf(c decide.Change) string {
	if c.Pod != nil {
		return "Pod " + c.Pod.Namespace + "/" + c.Pod.Name
	}
	return node.NewObject(c.Value).Ref().String()
}

// call makes the call that a change stands for.
func (r *Runner) call(ctx context.Context, c decide.Change) error {
	switch c.Do {
	case decide.MakePod:
		return r.apply(ctx, podManifest(c.Pod), new(int64))
	case decide.ChangePod:
		return r.change(ctx, podManifest(c.Pod), c.Pod.ResourceVersion)
	case decide.MakeObject:
		return r.apply(ctx, c.Value, new(int64))
	case decide.ChangeObject:
		return r.change(ctx, c.Value, c.Value.GetResourceVersion())
	case decide.DeletePod:
		_, err := r.pods.DeletePod(ctx, &nodev1.DeletePodRequest{Namespace: c.Pod.Namespace, Name: c.Pod.Name, Uid: string(c.Pod.UID)})
		return err
	case decide.DeleteObject:
		ref := node.NewObject(c.Value).Ref()
		_, err := r.objects.DeleteObject(ctx, &nodev1.DeleteObjectRequest{
			Kind: string(ref.Kind), Namespace: ref.Namespace, Name: ref.Name, Uid: string(c.Value.GetUID()),
		})
		return err
	}
	return r.putStatus(ctx, c)
}

func podManifest(p *corev1.Pod) *corev1.Pod {
	posted := p.DeepCopy()
	posted.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	return posted
}

// apply posts an object that has not changed since a revision.
func (r *Runner) apply(ctx context.Context, object any, since *int64) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	_, err = r.manifests.Apply(ctx, &nodev1.ApplyRequest{Manifest: string(text), UnchangedSince: since})
	return err
}

func (r *Runner) change(ctx context.Context, object any, version string) error {
	since, err := sinceOf(version)
	if err != nil {
		return err
	}
	return r.apply(ctx, object, since)
}

func sinceOf(version string) (*int64, error) {
	since, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("resourceVersion %q is no revision: %w", version, err)
	}
	return &since, nil
}

func (r *Runner) putStatus(ctx context.Context, c decide.Change) error {
	ref := node.NewObject(c.Value).Ref()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.Value)
	if err != nil {
		return err
	}
	since, err := sinceOf(c.Value.GetResourceVersion())
	if err != nil {
		return err
	}
	shown, _ := fields["status"].(map[string]any)
	made, err := structpb.NewStruct(shown)
	if err != nil {
		return err
	}
	_, err = r.objects.PutObjectStatus(ctx, &nodev1.PutObjectStatusRequest{
		Kind: string(ref.Kind), Namespace: ref.Namespace, Name: ref.Name, Uid: string(c.Value.GetUID()),
		Status: made, UnchangedSince: since, Annotations: c.Notes,
	})
	return err
}
