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

// carry does the next step about a key, if there is one. What it changes on the
// node comes back through the watch, and leads to the step after it.
func (f *fleet) carry(ctx context.Context, key string) error {
	v := f.view(key)
	switch todo := next(v); todo.verb {
	case put:
		return f.put(ctx, key, v)
	case end:
		_, err := f.node.DeletePod(ctx, &nodev1.DeletePodRequest{Namespace: todo.pod.name.Namespace, Name: todo.pod.name.Name, Uid: todo.pod.uid})
		if err != nil && grpcstatus.Code(err) != codes.NotFound {
			return fmt.Errorf("have the node end %s: %w", todo.pod.name, err)
		}
	case tell:
		return f.tell(ctx, key, todo.status)
	}
	return nil
}

// put posts a pod to the node. A pod that the node refuses has failed: a repeat would not
// help. It never replaces a pod that came in another way, even if the node has yet to
// report it.
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
		return fmt.Errorf("give it to the node: %w", err)
	}
	f.mu.Lock()
	e := f.entry(key)
	e.taken, e.refused = text, refused
	f.mu.Unlock()
	if refused != "" || len(v.pods) > 0 {
		f.queue.Add(key) // for its status: a pod that is there already causes no event of the watch
	}
	return nil
}

// tell writes a status to etcd.
func (f *fleet) tell(ctx context.Context, key, status string) (err error) {
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
		f.queue.Add(key) // to let go of it
	}
	return nil
}
