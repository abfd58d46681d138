package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// plugged stands for a node with plugins.
type plugged struct {
	nodev1.NodeServiceClient
	reply nodev1.ListPluginsResponse
}

func (p *plugged) ListPlugins(context.Context, *nodev1.ListPluginsRequest, ...grpc.CallOption) (*nodev1.ListPluginsResponse, error) {
	return &p.reply, nil
}

// book stands for a cluster with a Node and a CSINode object. It takes no change of an entry, as API servers do.
type book struct {
	t       *testing.T
	node    corev1.Node
	csiNode *storagev1.CSINode
	writes  int
}

func (b *book) answer(r *http.Request) (int, any, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		b.writes++
	}
	if strings.HasPrefix(r.URL.Path, "/api/v1/nodes/") {
		if r.Method == http.MethodPatch {
			var change struct {
				Metadata struct{ Labels, Annotations map[string]*string }
				Status   struct{ VolumesInUse *[]corev1.UniqueVolumeName }
			}
			if err := json.Unmarshal(body, &change); err != nil {
				b.t.Error(err)
			}
			merge(&b.node.Labels, change.Metadata.Labels)
			merge(&b.node.Annotations, change.Metadata.Annotations)
			if used := change.Status.VolumesInUse; used != nil {
				b.node.Status.VolumesInUse = *used
			}
		}
		return http.StatusOK, &b.node, nil
	}
	switch r.Method {
	case http.MethodGet:
		if b.csiNode == nil {
			return http.StatusNotFound, refused(http.StatusNotFound, metav1.StatusReasonNotFound), nil
		}
	default:
		var envelope runtime.Unknown
		written := &storagev1.CSINode{}
		if err := errors.Join(envelope.Unmarshal(body[len("k8s\x00"):]), written.Unmarshal(envelope.Raw)); err != nil {
			b.t.Error(err)
		}
		written.TypeMeta = metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSINode"}
		for _, entry := range written.Spec.Drivers {
			if was := b.entry(entry.Name); was != nil && was.String() != entry.String() {
				return http.StatusUnprocessableEntity, refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid), nil
			}
		}
		b.csiNode = written
	}
	return http.StatusOK, b.csiNode, nil
}

func (b *book) entry(name string) *storagev1.CSINodeDriver {
	for i := 0; b.csiNode != nil && i < len(b.csiNode.Spec.Drivers); i++ {
		if d := &b.csiNode.Spec.Drivers[i]; d.Name == name {
			return d
		}
	}
	return nil
}

func merge(into *map[string]string, changes map[string]*string) {
	for key, value := range changes {
		if *into == nil {
			*into = map[string]string{}
		}
		if value == nil {
			delete(*into, key)
		} else {
			(*into)[key] = *value
		}
	}
}

// driverPlugin is a CSI driver as the node lists it.
func driverPlugin(name, nodeID string, most int64, topology map[string]string) *nodev1.Plugin {
	return &nodev1.Plugin{Type: node.CSIPlugin, Name: name, Connected: true, Registered: true, Csi: &nodev1.CSIDriver{
		NodeId: nodeID, MaxVolumes: most, Topology: topology,
	}}
}

func TestTheClusterKnowsTheCSIDriversOfTheNode(t *testing.T) {
	rack := map[string]string{"example.com/rack": "r1"}
	disk := driverPlugin("disk", "here", 7, rack)
	away := driverPlugin("disk", "here", 7, rack)
	away.Connected, away.Registered = false, false
	for _, c := range []struct {
		name   string
		has    []storagev1.CSINodeDriver // in the cluster, before
		labels map[string]string
		ids    string
		turns  [][]*nodev1.Plugin
		want   string // the drivers in the CSINode object
		notes  string
		fails  bool
	}{
		{name: "a node without drivers has no CSINode object", turns: [][]*nodev1.Plugin{{}}, want: "none"},
		{
			name: "one that registers is listed", turns: [][]*nodev1.Plugin{{disk}},
			want: "disk=here/7[example.com/rack]", notes: `{"disk":"here"}`,
		},
		{
			name: "others that are listed stay, also in the annotation", has: []storagev1.CSINodeDriver{{Name: "other", NodeID: "o"}}, ids: `{"other":"o"}`,
			turns: [][]*nodev1.Plugin{{disk}, {}}, want: "other=o", notes: `{"other":"o"}`,
		},
		{
			name: "one that registers with other words is listed anew", has: []storagev1.CSINodeDriver{{Name: "disk", NodeID: "there"}},
			turns: [][]*nodev1.Plugin{{disk}}, want: "disk=here/7[example.com/rack]", notes: `{"disk":"here"}`,
		},
		{
			name: "one that has lost its connection stays", turns: [][]*nodev1.Plugin{{disk}, {away}},
			want: "disk=here/7[example.com/rack]", notes: `{"disk":"here"}`,
		},
		{name: "one that has not registered is not listed", turns: [][]*nodev1.Plugin{{away}}, want: "none"},
		{name: "one that is gone is listed no longer", turns: [][]*nodev1.Plugin{{disk}, {}}, want: ""},
		{
			name: "a limit that no int32 holds is the largest", turns: [][]*nodev1.Plugin{{driverPlugin("disk", "here", 1<<40, nil)}},
			want: "disk=here/2147483647", notes: `{"disk":"here"}`,
		},
		{
			name: "a driver that contradicts a label of the node is refused, and no other", labels: map[string]string{"example.com/rack": "r2"},
			turns: [][]*nodev1.Plugin{{disk, driverPlugin("good", "g", 0, nil)}}, want: "good=g", notes: `{"good":"g"}`, fails: true,
		},
		{
			name: "and what was said of it before goes", labels: map[string]string{"example.com/rack": "r2"}, ids: `{"disk":"here"}`,
			has: []storagev1.CSINodeDriver{{Name: "disk", NodeID: "here"}}, turns: [][]*nodev1.Plugin{{disk}}, fails: true,
		},
		{
			name: "what a former process has said of one goes with it, although this one could not tell of it",
			has:  []storagev1.CSINodeDriver{{Name: "disk", NodeID: "here"}}, turns: [][]*nodev1.Plugin{{away}, {}},
		},
		{
			name: "an annotation that cannot be read is not overwritten", ids: "?",
			turns: [][]*nodev1.Plugin{{disk}}, want: "none", notes: "?", fails: true,
		},
		{name: "an annotation of null is an empty one", ids: "null", turns: [][]*nodev1.Plugin{{driverPlugin("disk", "here", 0, nil)}}, want: "disk=here", notes: `{"disk":"here"}`},
	} {
		b := &book{t: t}
		b.node.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
		b.node.Name, b.node.Labels = "n", c.labels
		if c.ids != "" {
			b.node.Annotations = map[string]string{annotationNodeIDs: c.ids}
		}
		if c.has != nil {
			b.csiNode = &storagev1.CSINode{TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSINode"}, ObjectMeta: b.node.ObjectMeta, Spec: storagev1.CSINodeSpec{Drivers: c.has}}
		}
		p := &plugged{}
		d := &drivers{
			nodeName: "n", cluster: apiServer(b.answer).dial(t), node: p, log: slog.New(slog.DiscardHandler), now: time.Now,
			told: map[string]*nodev1.CSIDriver{},
		}
		d.attachments = newAttachments("n", d.cluster)
		var err error
		for _, plugins := range c.turns {
			p.reply.Plugins = plugins
			err = d.update(t.Context())
			writes := b.writes
			if again := d.update(t.Context()); (again == nil) != (err == nil) || b.writes != writes {
				t.Errorf("%s: without news the cluster is told again", c.name)
			}
		}
		if got := b.listed(); got != c.want || b.node.Annotations[annotationNodeIDs] != c.notes || (err != nil) != c.fails {
			t.Errorf("%s: the cluster lists %q with %q and %v, want %q with %q", c.name, got, b.node.Annotations, err, c.want, c.notes)
		}
		if disk := b.entry("disk"); disk != nil && len(disk.TopologyKeys) > 0 && b.node.Labels["example.com/rack"] != "r1" {
			t.Errorf("%s: the node is labelled %q", c.name, b.node.Labels)
		}
	}
}

// listed shows the drivers of the CSINode object.
func (b *book) listed() string {
	if b.csiNode == nil {
		return "none"
	}
	var all []string
	for _, d := range b.csiNode.Spec.Drivers {
		text := d.Name + "=" + d.NodeID
		if d.Allocatable != nil {
			text += fmt.Sprintf("/%d", *d.Allocatable.Count)
		}
		if len(d.TopologyKeys) > 0 {
			text += fmt.Sprint(d.TopologyKeys)
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}
