package fleet

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/cluster/retry"
)

// carry takes the next step for a key, if there is one. Its effect on the node comes back through the watch, and leads
// to the step after it.
func (f *fleet) carry(ctx context.Context, key string) error {
	v := f.view(key)
	switch todo := next(v); todo.verb {
	case put:
		return f.put(ctx, key, v)
	case end:
		request := &nodev1.DeletePodRequest{
			Namespace: todo.pod.name.Namespace, Name: todo.pod.name.Name, Uid: todo.pod.uid,
		}
		if _, err := f.node.DeletePod(ctx, request); err != nil && grpcstatus.Code(err) != codes.NotFound {
			return fmt.Errorf("delete pod %s from the node: %w", todo.pod.name, err)
		}
	case report:
		return f.report(ctx, key, todo.status)
	}
	return nil
}

// put posts a pod to the node. A pod that the node refuses has failed: the node would answer the same again. put never
// replaces a pod of another client, even one that the node has yet to report.
func (f *fleet) put(ctx context.Context, key string, v view) error {
	text, refused := *v.text, ""
	manifest, err := manifestOf(text, key)
	if err == nil {
		name, _ := nameOf(text)
		request := &nodev1.PutPodRequest{Namespace: name.Namespace, Name: name.Name, Manifest: manifest}
		if !slices.ContainsFunc(v.pods, func(p local) bool { return p.name == name }) {
			request.UnchangedSince = new(int64)
		}
		_, err = f.node.PutPod(ctx, request)
	} else {
		refused = err.Error()
	}
	if retry.Hopeless(err) {
		refused = grpcstatus.Convert(err).Message()
	}
	if err != nil && refused == "" {
		return fmt.Errorf("post the pod to the node: %w", err)
	}
	f.mu.Lock()
	e := f.entry(key)
	e.taken, e.refused = text, refused
	f.mu.Unlock()
	f.bell.Ring()
	if refused != "" || len(v.pods) > 0 {
		f.queue.Add(key) // for its status: a pod that the node has already causes no event of the watch
	}
	return nil
}

// report writes a status to etcd. An empty status removes it.
func (f *fleet) report(ctx context.Context, key, status string) (err error) {
	if status == "" {
		err = f.store.remove(ctx, f.store.statuses()+key)
	} else {
		err = f.store.put(ctx, f.store.statuses()+key, status)
	}
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.entry(key).status = status
	f.mu.Unlock()
	if status == "" {
		f.queue.Add(key) // the next look drops the entry
	}
	return nil
}
