package member

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	nodev1 "nodal/api/gen/node/v1"
)

func TestConditionsAreTheNodesAndTheirTimesTheClusters(t *testing.T) {
	began := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	now := began.Add(time.Hour)
	p := &nodeObject{now: func() time.Time { return now }}
	p.sent.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(began.Add(-time.Hour))},
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(began.Add(-time.Hour))},
	}
	status := p.status(&nodev1.GetNodeResponse{Conditions: []*nodev1.NodeCondition{
		{Type: "DiskPressure", Status: "True", Reason: "KubeletHasDiskPressure", Message: "full", TransitionedAt: timestamppb.New(began)},
		{Type: "Ready", Status: "False", Reason: "KubeletNotReady", Message: "gone", TransitionedAt: timestamppb.New(began)},
	}})
	p.keepTransitions(&status)
	want := []corev1.NodeCondition{
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue, Reason: "KubeletHasDiskPressure", Message: "full", LastTransitionTime: metav1.NewTime(began.Add(-time.Hour))},
		{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", Message: "gone", LastTransitionTime: metav1.NewTime(began)},
	}
	for i, got := range status.Conditions {
		want[i].LastHeartbeatTime = metav1.NewTime(now)
		if got != want[i] {
			t.Errorf("got %+v\nwant %+v", got, want[i])
		}
	}
	if len(status.Conditions) != len(want) {
		t.Errorf("got %d conditions, want %d", len(status.Conditions), len(want))
	}
}

// described stands for a node that describes itself.
type described struct {
	nodev1.NodeServiceClient
	nodev1.ImagesServiceClient
	info   *nodev1.GetNodeResponse
	images []*nodev1.Image
}

func (d described) GetNode(context.Context, *nodev1.GetNodeRequest, ...grpc.CallOption) (*nodev1.GetNodeResponse, error) {
	return d.info, nil
}

func (d described) ListImages(context.Context, *nodev1.ListImagesRequest, ...grpc.CallOption) (*nodev1.ListImagesResponse, error) {
	return &nodev1.ListImagesResponse{Images: d.images}, nil
}

// placed returns a node and an API server that has the given Node object, or none. The
// server records writes and events.
func placed(t *testing.T, config Config, found *corev1.Node, code int) (p *nodeObject, written, told *[]string) {
	written, told = &[]string{}, &[]string{}
	there := found != nil
	if !there {
		found = &corev1.Node{}
	}
	found.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
	server := apiServer(func(r *http.Request) (int, any, error) {
		if r.Method == http.MethodGet && !there {
			return http.StatusNotFound, refused(http.StatusNotFound, metav1.StatusReasonNotFound), nil
		}
		if r.Method == http.MethodGet {
			return http.StatusOK, found, nil
		}
		body, err := io.ReadAll(r.Body)
		*written = append(*written, r.Method+" "+string(body))
		if code != http.StatusOK {
			return code, refused(code, metav1.StatusReasonForbidden), nil
		}
		return code, found, err
	})
	node := described{info: &nodev1.GetNodeResponse{
		Name: "n", Addresses: []string{"192.0.2.1"}, Labels: map[string]string{"node-role.kubernetes.io/x": "", "disk": "ssd"},
		Conditions: []*nodev1.NodeCondition{{Type: "Ready", Status: "True"}, {Type: "DiskPressure", Status: "False"}},
	}}
	config.NodeName, config.Register = "n", true
	p = &nodeObject{config: config, cluster: server.dial(t), node: node, imagesOf: node, log: slog.New(slog.DiscardHandler), now: time.Now}
	p.subnets = &subnets{nodeName: "n", cluster: p.cluster, board: config.Board}
	p.inform = func(_ context.Context, _ bool, reason, _ string) { *told = append(*told, reason) }
	return p, written, told
}

func TestLabelsThatTheClusterForbidsKeepNoNodeOut(t *testing.T) {
	p, written, _ := placed(t, Config{Labels: map[string]string{"rack": "7"}}, &corev1.Node{}, http.StatusForbidden)
	if err := p.register(t.Context()); err != nil {
		t.Errorf("got %v", err)
	}
	want := []string{`PATCH {"metadata":{"annotations":{"volumes.kubernetes.io/controller-managed-attach-detach":"true"},"labels":{"disk":"ssd","rack":"7"}}}`}
	if !slices.Equal(*written, want) {
		t.Errorf("the cluster is asked %q, want %q", *written, want)
	}
}

func TestTheClusterFollowsTheLabelsThatTheNodeChanges(t *testing.T) {
	has := map[string]string{"disk": "ssd", "rack": "7", "team": "a"}
	p, written, _ := placed(t, Config{}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: has}}, http.StatusOK)
	info := p.node.(described).info
	label := func(labels map[string]string) (patch string) {
		t.Helper()
		info.Labels, *written = labels, nil
		if err := p.update(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, w := range *written {
			if strings.Contains(w, `"labels"`) {
				patch += w
			}
		}
		return patch
	}
	info.Labels = map[string]string{"disk": "ssd", "rack": "7"}
	if err := p.register(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := label(map[string]string{"disk": "ssd", "rack": "7"}); got != "" {
		t.Errorf("the same labels: the cluster is asked %s", got)
	}
	if got, want := label(map[string]string{"disk": "nvme"}), `PATCH {"metadata":{"labels":{"disk":"nvme","rack":null}}}`; got != want {
		t.Errorf("a label that changes and one that goes: the cluster is asked %s, want %s", got, want)
	}
	if got := label(map[string]string{"disk": "nvme"}); got != "" {
		t.Errorf("what others have changed since: the cluster is asked %s", got)
	}
}

func TestTheNodeShowsKubernetesVersionAndItsOwnInAnAnnotation(t *testing.T) {
	p, written, _ := placed(t, Config{}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{"disk": "ssd"}, Annotations: map[string]string{annotationVersion: "older"},
	}}, http.StatusOK)
	info := p.node.(described).info
	info.Version, info.KubernetesVersion = "v0.1-3-gabcdef", "v1.37.0"
	if err := p.register(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{`PATCH {"metadata":{"annotations":{"nodal.node/version":"v0.1-3-gabcdef","volumes.kubernetes.io/controller-managed-attach-detach":"true"}}}`}
	if !slices.Equal(*written, want) {
		t.Errorf("the cluster is asked %q, want %q", *written, want)
	}
	if got := p.status(info).NodeInfo.KubeletVersion; got != "v1.37.0" {
		t.Errorf("the Node object says %q, want v1.37.0", got)
	}
	if got := p.status(&nodev1.GetNodeResponse{Version: "d81874f"}).NodeInfo.KubeletVersion; got != "d81874f" {
		t.Errorf("of a node that does not know Kubernetes' version: got %q, want its own", got)
	}
}

// subnetBoard takes the subnets of pods, once it is able to.
type subnetBoard struct {
	ready
	told []string
	err  error
}

func (b *subnetBoard) UsePodCIDRs(_ context.Context, cidrs []string) error {
	b.told = append(b.told, strings.Join(cidrs, ","))
	return b.err
}

func TestTheNodeIsToldItsSubnetsUntilItTakesThem(t *testing.T) {
	board, object := &subnetBoard{err: errors.New("away")}, &corev1.Node{}
	p, _, _ := placed(t, Config{StatusAtMost: time.Hour, Board: board}, object, http.StatusOK)
	update := func() {
		t.Helper()
		if err := p.update(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	update() // there are none yet
	object.Spec.PodCIDRs = []string{"10.244.1.0/24", "fd00:244:1::/64"}
	update()
	board.err = nil
	update()
	update()
	if want := []string{"10.244.1.0/24,fd00:244:1::/64", "10.244.1.0/24,fd00:244:1::/64"}; !slices.Equal(board.told, want) {
		t.Errorf("the node was told %q, want %q: again after the failure, and not after the success", board.told, want)
	}
}

func TestWhatTurnsOnANodeIsTold(t *testing.T) {
	p, _, told := placed(t, Config{StatusAtMost: time.Hour}, nil, http.StatusOK)
	node := p.node.(described)
	if err := errors.Join(p.register(t.Context()), p.update(t.Context())); err != nil {
		t.Fatal(err)
	}
	node.info.Conditions[0].Status = "False"
	if err := p.update(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"NodeReady", "NodeHasNoDiskPressure", "NodeNotReady"}; !slices.Equal(*told, want) {
		t.Errorf("told %q, want %q", *told, want)
	}
}

func TestARebootAndACordonAreTold(t *testing.T) {
	found := &corev1.Node{Status: corev1.NodeStatus{
		NodeInfo:   corev1.NodeSystemInfo{BootID: "first"},
		Conditions: []corev1.NodeCondition{{Type: "Ready", Status: "True"}, {Type: "DiskPressure", Status: "False"}},
	}}
	p, _, told := placed(t, Config{StatusAtMost: time.Hour}, found, http.StatusOK)
	p.node.(described).info.BootId = "second"
	if err := errors.Join(p.register(t.Context()), p.update(t.Context()), p.update(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, found.Spec.Unschedulable = range []bool{true, true, false, false} {
		if err := p.update(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"Rebooted", "NodeNotSchedulable", "NodeSchedulable"}; !slices.Equal(*told, want) {
		t.Errorf("told %q, want %q", *told, want)
	}
}

func TestANodeThatWasTakenForLostSaysAtOnceThatItIsNot(t *testing.T) {
	lost := metav1.NewTime(time.Now().Add(-time.Minute).Truncate(time.Second))
	found := &corev1.Node{}
	p, written, told := placed(t, Config{StatusAtMost: time.Hour}, found, http.StatusOK)
	if err := errors.Join(p.register(t.Context()), p.update(t.Context())); err != nil {
		t.Fatal(err)
	}
	found.Status = *p.sent.DeepCopy()
	if err := p.update(t.Context()); err != nil {
		t.Fatal(err)
	}
	*written, *told = nil, nil
	if err := p.update(t.Context()); err != nil || len(*written) > 0 {
		t.Fatalf("while nothing has changed the cluster is told %q, %v", *written, err)
	}
	ready := &found.Status.Conditions[0]
	ready.Status, ready.Reason, ready.LastTransitionTime = corev1.ConditionUnknown, "NodeStatusUnknown", lost
	if err := p.update(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(*written) != 1 || !strings.Contains((*written)[0], `"status":"True"`) || !slices.Equal(*told, []string{"NodeReady"}) {
		t.Errorf("the cluster is told %q and %q, want that the node is ready", *written, *told)
	}
	if at := p.sent.Conditions[0].LastTransitionTime; !lost.Before(&at) {
		t.Errorf("it is ready since %v, and was lost at %v", at, lost)
	}
}

func TestADeletedNodeObjectIsCreatedAgain(t *testing.T) {
	p, _, told := placed(t, Config{StatusAtMost: time.Hour}, &corev1.Node{}, http.StatusOK)
	if err := errors.Join(p.register(t.Context()), p.update(t.Context())); err != nil {
		t.Fatal(err)
	}
	*told = nil
	var made []string
	p.cluster = apiServer(func(r *http.Request) (int, any, error) {
		if r.Method != http.MethodPost {
			return http.StatusNotFound, refused(http.StatusNotFound, metav1.StatusReasonNotFound), nil
		}
		made = append(made, r.URL.Path)
		return http.StatusCreated, corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}, nil
	}).dial(t)
	if err := p.update(t.Context()); err != nil || !slices.Equal(made, []string{"/api/v1/nodes"}) || len(*told) > 0 {
		t.Errorf("made are %q, %v, and told is %q; want one node and nothing", made, err, *told)
	}
}

func TestAnotherCapacityIsAnotherStatus(t *testing.T) {
	p := &nodeObject{now: time.Now}
	of := func(cpus string) corev1.NodeStatus {
		return p.status(&nodev1.GetNodeResponse{Capacity: map[string]string{"cpu": cpus}, Allocatable: map[string]string{"cpu": cpus}})
	}
	if !sameButTimes(of("4"), of("4")) || sameButTimes(of("4"), of("3")) {
		t.Error("want a status sent when a CPU went offline, and none while nothing has changed")
	}
}

func TestAddressesThatACloudSaysStay(t *testing.T) {
	known := &corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeExternalIP, Address: "198.51.100.7"}}}}
	for _, c := range []struct {
		name     string
		external bool
		found    *corev1.Node
		want     bool
	}{
		{"without a cloud they are the node's", false, known, true},
		{"with one, they are the node's until there are some", true, &corev1.Node{}, true},
		{"and then the cloud's", true, known, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, written, _ := placed(t, Config{ExternalCloud: c.external}, c.found.DeepCopy(), http.StatusOK)
			if err := errors.Join(p.register(t.Context()), p.update(t.Context())); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains((*written)[len(*written)-1], "addresses"); got != c.want {
				t.Errorf("of addresses is told: %t, want %t", got, c.want)
			}
		})
	}
}

func TestACloudControllerIsToldOfTheAddressesThatTheConfigurationNames(t *testing.T) {
	addr, any4 := netip.MustParseAddr("192.0.2.1"), netip.IPv4Unspecified()
	old := map[string]string{"alpha.kubernetes.io/provided-node-ip": "203.0.113.9"}
	for _, c := range []struct {
		name       string
		config     Config
		annotation any // of the Node object; nil if it is taken away
		own        bool
	}{
		{"without a cloud", Config{GivenIPs: []netip.Addr{addr}}, nil, true},
		{"with one", Config{ExternalCloud: true, GivenIPs: []netip.Addr{addr, netip.MustParseAddr("2001:db8::1")}}, "192.0.2.1,2001:db8::1", true},
		{"any address of a family names none", Config{ExternalCloud: true, GivenIPs: []netip.Addr{any4}}, nil, true},
		{"where none is named, the cloud alone knows them", Config{ExternalCloud: true}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: old}}
			p, written, _ := placed(t, c.config, found, http.StatusOK)
			if err := errors.Join(p.register(t.Context()), p.update(t.Context())); err != nil {
				t.Fatal(err)
			}
			var label struct {
				Metadata struct{ Annotations map[string]any }
			}
			_, patch, _ := strings.Cut((*written)[0], " ")
			if err := json.Unmarshal([]byte(patch), &label); err != nil {
				t.Fatal(err)
			}
			if got, ok := label.Metadata.Annotations["alpha.kubernetes.io/provided-node-ip"]; !ok || got != c.annotation {
				t.Errorf("the annotation becomes %v, want %v", got, c.annotation)
			}
			status := (*written)[len(*written)-1]
			if got := strings.Contains(status, "InternalIP"); got != c.own || !strings.Contains(status, "Hostname") {
				t.Errorf("the status is %s; want the node's own addresses: %t, and its name", status, c.own)
			}
		})
	}
}

func TestImagesThatAreNoLongerNamedGo(t *testing.T) {
	named := &corev1.Node{Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{Names: []string{"old"}}}}}
	p, written, _ := placed(t, Config{MaxImages: 0}, named, http.StatusOK)
	if err := errors.Join(p.register(t.Context()), p.update(t.Context())); err != nil {
		t.Fatal(err)
	}
	if last := (*written)[len(*written)-1]; !strings.Contains(last, `"images":[]`) {
		t.Errorf("the cluster is told %s, want that no images are named", last)
	}
	unknown, err := json.Marshal(patchOf(corev1.NodeStatus{}))
	if err != nil || strings.Contains(string(unknown), "images") || strings.Contains(string(unknown), "addresses") {
		t.Errorf("of what is not known is said %s, %v", unknown, err)
	}
}

func TestWhatTheRuntimeCanDoIsTold(t *testing.T) {
	p := &nodeObject{now: time.Now}
	status := p.status(&nodev1.GetNodeResponse{Runtime: &nodev1.Runtime{
		SupplementalGroupsPolicy: true, Handlers: []*nodev1.RuntimeHandler{{Name: "runc", UserNamespaces: true}},
	}})
	if !*status.Features.SupplementalGroupsPolicy {
		t.Error("pods may not choose groups of the image")
	}
	if len(status.RuntimeHandlers) != 1 || status.RuntimeHandlers[0].Name != "runc" ||
		!*status.RuntimeHandlers[0].Features.UserNamespaces || *status.RuntimeHandlers[0].Features.RecursiveReadOnlyMounts {
		t.Errorf("the handlers are %+v", status.RuntimeHandlers)
	}
	if !slices.IsSorted(status.DeclaredFeatures) {
		t.Errorf("an API server does not take %q", status.DeclaredFeatures)
	}
}

func TestTheRuntimesVersionCanBeCompared(t *testing.T) {
	p := &nodeObject{now: time.Now}
	for is, want := range map[string]string{
		"2.4.2": "2.4.2", "v2.1.0-rc.1": "2.1.0-rc.1", "1.6.20~ds1": "1.6.20", "1.30.0-dev+0f1e": "1.30.0-dev+0f1e", "of today": "of today",
	} {
		got := p.status(&nodev1.GetNodeResponse{Runtime: &nodev1.Runtime{Name: "containerd", Version: is}}).NodeInfo.ContainerRuntimeVersion
		if got != "containerd://"+want {
			t.Errorf("of version %q: got %q, want %q", is, got, want)
		}
	}
}

func TestTheSwapOfTheMachineIsTold(t *testing.T) {
	p := &nodeObject{now: time.Now}
	swaps, other := p.status(&nodev1.GetNodeResponse{SwapBytes: 5}).NodeInfo.Swap, p.status(&nodev1.GetNodeResponse{}).NodeInfo.Swap
	if swaps == nil || *swaps.Capacity != 5 || other != nil {
		t.Errorf("of a machine that swaps it says %v, of another %v; want 5 bytes and nothing", swaps, other)
	}
}

func TestTheLargestImagesAreNamed(t *testing.T) {
	image := func(id string, size int64, names ...string) *nodev1.Image {
		return &nodev1.Image{Id: id, Size: size, References: names, Digests: []string{id + "@sha256:0"}}
	}
	all := []*nodev1.Image{image("small", 1, "s:1"), image("large", 9, "l:1", "l:2", "l:3", "l:4", "l:5"), image("other", 1)}
	for most, want := range map[int]string{
		-1: "large@sha256:0 l:1 l:2 l:3 l:4; other@sha256:0; small@sha256:0 s:1",
		1:  "large@sha256:0 l:1 l:2 l:3 l:4",
		0:  "",
	} {
		var got []string
		for _, i := range largest(slices.Clone(all), most) {
			got = append(got, strings.Join(i.Names, " "))
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("of at most %d: got %q, want %q", most, got, want)
		}
	}
}
