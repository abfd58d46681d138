package client

import (
	"context"
	"encoding/json"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	nodev1 "nodal/api/gen/node/v1"
)

// nodeKind is the node itself. There is one.
func nodeKind() kind {
	get := func(ctx context.Context, s *session) (item, error) {
		client, err := clientOf(s, nodev1.NewNodeServiceClient)
		if err != nil {
			return item{}, err
		}
		reply, err := client.GetNode(ctx, &nodev1.GetNodeRequest{})
		return nodeItem(reply), err
	}
	return kind{
		name: "nodes", aliases: []string{"node", "no"}, unlabelled: true,
		heads: []string{"STATUS", "PODS", "AGE", "VERSION", "RUNTIME"}, wide: []string{"ADDRESSES", "OS", "KERNEL"},
		list: func(ctx context.Context, s *session, _ question) ([]item, error) {
			one, err := get(ctx, s)
			return []item{one}, err
		},
		get: func(ctx context.Context, s *session, _ question, name string) (item, error) {
			one, err := get(ctx, s)
			if err == nil && one.name != name {
				err = status.Errorf(codes.NotFound, "node %q not found: this one is %s", name, one.name)
			}
			return one, err
		},
		watch: watchNode,
	}
}

func watchNode(ctx context.Context, s *session, _ question, each func(string, item) error) error {
	client, err := clientOf(s, nodev1.NewNodeServiceClient)
	if err != nil {
		return err
	}
	change := "ADDED"
	stream, err := client.WatchNode(ctx, &nodev1.WatchNodeRequest{})
	return follow(stream, err, func(m *nodev1.WatchNodeResponse) error {
		err := each(change, nodeItem(m.GetNode()))
		if err == nil && change == "ADDED" {
			change, err = "MODIFIED", each(synced, item{})
		}
		return err
	})
}

func nodeItem(n *nodev1.GetNodeResponse) item {
	state := "NotReady"
	for _, c := range n.GetConditions() {
		if c.GetType() == "Ready" && c.GetStatus() == "True" {
			state = "Ready"
		}
	}
	for _, c := range n.GetConditions() {
		if c.GetType() != "Ready" && c.GetStatus() == "True" {
			state += "," + c.GetType()
		}
	}
	if n.GetCordon() != nil {
		state += ",Cordoned"
	}
	r := n.GetRuntime()
	return item{
		kind: "node", name: n.GetName(), object: asMap(n),
		cells: []string{
			state, strconv.Itoa(int(n.GetPods().GetTotal())), age(n.GetStartedAt()), n.GetVersion(), r.GetName() + " " + r.GetVersion(),
		},
		wide: []string{join(n.GetAddresses()), n.GetOsImage(), n.GetKernelVersion()},
	}
}

// asMap returns a message of the API in the JSON that REST answers with.
func asMap(m proto.Message) map[string]any {
	made := map[string]any{}
	if text, err := protojson.Marshal(m); err == nil {
		_ = json.Unmarshal(text, &made)
	}
	return made
}
