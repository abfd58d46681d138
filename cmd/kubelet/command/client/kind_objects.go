package client

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/util/duration"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// objectKind is a kind of objects. All of them share one service.
func objectKind(k node.Kind) kind {
	columns := columnsOf(k.Name)
	aliases := append([]string{strings.ToLower(string(k.Name))}, moreNames[k.Name]...)
	if k.Short != "" {
		aliases = append(aliases, k.Short)
	}
	made := kind{
		name: k.Plural, aliases: aliases, object: k.Name, namespaced: k.Namespaced,
		heads: columns.heads,
	}
	made.list = func(ctx context.Context, s *session, ask question) ([]item, error) {
		client, err := clientOf(s, nodev1.NewObjectsServiceClient)
		if err != nil {
			return nil, err
		}
		request := &nodev1.ListObjectsRequest{Kind: string(k.Name), Namespace: ask.namespace, LabelSelector: ask.selector, Values: ask.values}
		reply, err := client.ListObjects(ctx, request)
		if ask.values && status.Code(err) == codes.PermissionDenied {
			s.note(errNoValues)
			request.Values = false
			reply, err = client.ListObjects(ctx, request)
		}
		var items []item
		for _, o := range reply.GetObjects() {
			items = append(items, columns.item(o))
		}
		return items, err
	}
	made.get = func(ctx context.Context, s *session, ask question, name string) (item, error) {
		client, err := clientOf(s, nodev1.NewObjectsServiceClient)
		if err != nil {
			return item{}, err
		}
		reply, err := client.GetObject(ctx, &nodev1.GetObjectRequest{Kind: string(k.Name), Namespace: ask.namespace, Name: name})
		if err != nil {
			return item{}, err
		}
		return columns.item(reply.GetObject()), nil
	}
	made.watch = func(ctx context.Context, s *session, ask question, each func(string, item) error) error {
		return columns.watch(ctx, s, string(k.Name), ask, each)
	}
	return made
}

var errNoValues = errors.New("the values are left out: only an admin gets them")

// columns are those of one kind of objects.
type columns struct {
	heads []string
	cells func(*nodev1.Object) []string
}

func (c columns) item(o *nodev1.Object) item {
	return item{
		kind: strings.ToLower(o.GetKind()), namespace: o.GetNamespace(), name: o.GetName(),
		cells: c.cells(o), object: o.GetObject().AsMap(),
	}
}

func (c columns) watch(ctx context.Context, s *session, kind string, ask question, each func(string, item) error) error {
	client, err := clientOf(s, nodev1.NewObjectsServiceClient)
	if err != nil {
		return err
	}
	stream, err := client.WatchObjects(ctx, &nodev1.WatchObjectsRequest{
		Kinds: []string{kind}, Namespace: ask.namespace, LabelSelector: ask.selector, Values: ask.values,
	})
	return follow(stream, err, func(m *nodev1.WatchObjectsResponse) error {
		if m.GetObject() == nil {
			return each(changeOf(m.GetType()), item{})
		}
		return each(changeOf(m.GetType()), c.item(m.GetObject()))
	})
}

// columnsOf returns the columns of a kind.
func columnsOf(k node.ObjectKind) columns {
	switch k {
	case node.ConfigMap, node.Secret:
		return columns{[]string{"AGE", "KEYS"}, func(o *nodev1.Object) []string {
			return []string{objectAge(o), cmp.Or(o.GetLocked(), strings.Join(o.GetKeys(), ","))}
		}}
	case node.PersistentVolume:
		return columns{[]string{"STATUS", "CAPACITY", "CLASS", "AGE", "CLAIM"}, func(o *nodev1.Object) []string {
			return []string{
				at(o, "status", "phase"), at(o, "spec", "capacity", "storage"), orNone(at(o, "spec", "storageClassName")), objectAge(o),
				strings.Trim(at(o, "spec", "claimRef", "namespace")+"/"+at(o, "spec", "claimRef", "name"), "/"),
			}
		}}
	case node.PersistentVolumeClaim:
		return columns{[]string{"STATUS", "VOLUME", "CAPACITY", "CLASS", "AGE", "MESSAGE"}, func(o *nodev1.Object) []string {
			return []string{
				at(o, "status", "phase"), orNone(at(o, "spec", "volumeName")), orNone(at(o, "status", "capacity", "storage")),
				orNone(at(o, "spec", "storageClassName")), objectAge(o), o.GetMessage(),
			}
		}}
	}
	return columns{[]string{"AGE"}, func(o *nodev1.Object) []string { return []string{objectAge(o)} }}
}

// at returns a text of an object's JSON.
func at(o *nodev1.Object, path ...string) string {
	var value any = o.GetObject().AsMap()
	for _, name := range path {
		fields, _ := value.(map[string]any)
		value = fields[name]
	}
	text, _ := value.(string)
	return text
}

func objectAge(o *nodev1.Object) string {
	made, err := time.Parse(time.RFC3339, at(o, "metadata", "creationTimestamp"))
	if err != nil {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(made))
}
