package kube

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// source gets the objects of one resource from the node API, and deletes them there.
type source interface {
	get(ctx context.Context, namespace, name string) (*object, error)
	list(ctx context.Context, of selection) (all []*object, revision int64, err error)
	// watch calls each for the selected objects, or for what changed after a revision, then with a mark, and then for every
	// change, until the context ends.
	watch(ctx context.Context, of selection, since int64, each func(change) error) error
	remove(ctx context.Context, namespace, name string, how deletion) (*object, error)
}

// object is an object with all its fields, as JSON has them.
type object = unstructured.Unstructured

// selection chooses objects, in one namespace or in all.
type selection struct{ namespace, labels, fields string }

// change is a step of a watch. A mark has no object: all that was there has been sent.
type change struct {
	kind     nodev1.WatchType
	revision int64
	object   *object
}

// deletion says how an object is deleted.
type deletion struct {
	grace     *int64 // seconds
	uid       string
	unchanged *int64 // since this revision

	propagation string // what becomes of the pods of a workload, in Kubernetes' words
}

// clients are the services of the node API.
type clients struct {
	manifests nodev1.ManifestsServiceClient
	pods      nodev1.PodsServiceClient
	objects   nodev1.ObjectsServiceClient
	events    nodev1.EventsServiceClient
	node      nodev1.NodeServiceClient
	stats     nodev1.StatsServiceClient
	exec      nodev1.ExecServiceClient
}

func clientsOf(conn grpc.ClientConnInterface) clients {
	return clients{
		manifests: nodev1.NewManifestsServiceClient(conn), pods: nodev1.NewPodsServiceClient(conn),
		objects: nodev1.NewObjectsServiceClient(conn), events: nodev1.NewEventsServiceClient(conn),
		node: nodev1.NewNodeServiceClient(conn), stats: nodev1.NewStatsServiceClient(conn),
		exec: nodev1.NewExecServiceClient(conn),
	}
}

// objectOf returns the object that a message holds.
func objectOf(of *structpb.Struct) *object { return &object{Object: of.AsMap()} }

// received passes on what a stream of the node API sends.
func received[M any](stream grpc.ServerStreamingClient[M], each func(*M) error) error {
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		if err := each(message); err != nil {
			return err
		}
	}
}

// unchangeable refuses to delete what the node derives from other things.
func unchangeable(kind, name string) error {
	return fmt.Errorf("%s %s: it cannot be deleted, as it is not kept: %w", strings.ToLower(kind), name, node.ErrUnsupported)
}
