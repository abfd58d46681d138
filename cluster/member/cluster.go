package member

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	nodeapiv1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// cluster is a client of the part of Kubernetes' API that a node needs: a few kinds. The generated clients know every
// kind, and would double the size of the program.
type cluster struct {
	core, coordination, classes, resources, storage rest.Interface
	trust                                           []rest.Interface // one for each version, the newest first
}

// dial returns a client of the API server. It does not connect yet.
func dial(config *rest.Config) (*cluster, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, coordinationv1.AddToScheme, authenticationv1.AddToScheme, nodeapiv1.AddToScheme, resourcev1.AddToScheme,
		storagev1.AddToScheme, addTrust,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	group := func(gv schema.GroupVersion, path string) (rest.Interface, error) {
		c := rest.CopyConfig(config)
		c.QPS, c.Burst = cmp.Or(c.QPS, 50), cmp.Or(c.Burst, 100)
		c.GroupVersion, c.APIPath = &gv, path
		c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
		c.ContentType, c.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
		return rest.RESTClientFor(c)
	}
	c := &cluster{}
	for _, part := range []struct {
		api  *rest.Interface
		gv   schema.GroupVersion
		path string
	}{
		{&c.core, corev1.SchemeGroupVersion, "/api"}, {&c.coordination, coordinationv1.SchemeGroupVersion, "/apis"},
		{&c.classes, nodeapiv1.SchemeGroupVersion, "/apis"}, {&c.resources, resourcev1.SchemeGroupVersion, "/apis"},
		{&c.storage, storagev1.SchemeGroupVersion, "/apis"},
	} {
		api, err := group(part.gv, part.path)
		if err != nil {
			return nil, fmt.Errorf("make a client of the API server: %w", err)
		}
		*part.api = api
	}
	for _, gv := range trustVersions() {
		api, err := group(gv, "/apis")
		if err != nil {
			return nil, fmt.Errorf("make a client of the API server: %w", err)
		}
		c.trust = append(c.trust, api)
	}
	return c, nil
}

// into reads an answer into an object. It returns nil beside an error.
func into[T runtime.Object](answer rest.Result, object T) (read T, err error) {
	if err := answer.Into(object); err != nil {
		return read, err
	}
	return object, nil
}

func (c *cluster) node(ctx context.Context, name string) (*corev1.Node, error) {
	return into(c.core.Get().Resource("nodes").Name(name).Do(ctx), &corev1.Node{})
}

// nodeLately reads the Node object from the API server's cache, which costs less and may be a little old.
func (c *cluster) nodeLately(ctx context.Context, name string) (*corev1.Node, error) {
	return into(c.core.Get().Resource("nodes").Name(name).Param("resourceVersion", "0").Do(ctx), &corev1.Node{})
}

func (c *cluster) createNode(ctx context.Context, n *corev1.Node) error {
	return c.core.Post().Resource("nodes").Body(n).Do(ctx).Error()
}

// patchNode merges a change into the Node object or, as "status", into its status.
func (c *cluster) patchNode(ctx context.Context, name string, change any, subresource ...string) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return c.core.Patch(types.StrategicMergePatchType).Resource("nodes").Name(name).SubResource(subresource...).Body(body).Do(ctx).Error()
}

// podOn returns a pod that is bound to the node, or nil. It lists pods, because a node may not get one that is gone:
// the answer would be "forbidden" instead of "not found".
func (c *cluster) podOn(ctx context.Context, nodeName string, key types.NamespacedName) (*corev1.Pod, error) {
	here := fields.Set{"spec.nodeName": nodeName, metav1.ObjectNameField: key.Name}
	list, err := into(c.core.Get().Namespace(key.Namespace).Resource("pods").Param("fieldSelector", here.String()).Do(ctx), &corev1.PodList{})
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return &list.Items[0], nil
}

func (c *cluster) createPod(ctx context.Context, pod *corev1.Pod) error {
	return c.core.Post().Namespace(pod.Namespace).Resource("pods").Body(pod).Do(ctx).Error()
}

// putStatus replaces a pod's status, unless the pod has changed since it was read. It returns the pod as it is then.
func (c *cluster) putStatus(ctx context.Context, read *corev1.Pod, status *corev1.PodStatus) (*corev1.Pod, error) {
	changed := *read
	changed.Status = *status
	return into(c.core.Put().Namespace(read.Namespace).Resource("pods").Name(read.Name).SubResource("status").Body(&changed).Do(ctx), &corev1.Pod{})
}

// forget deletes a pod at once, unless its name belongs to another pod by now.
func (c *cluster) forget(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	options := &metav1.DeleteOptions{GracePeriodSeconds: new(int64), Preconditions: &metav1.Preconditions{UID: &uid}}
	return c.core.Delete().Namespace(key.Namespace).Resource("pods").Name(key.Name).Body(options).Do(ctx).Error()
}

func (c *cluster) token(ctx context.Context, namespace, account string, r *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	return into(c.core.Post().Namespace(namespace).Resource("serviceaccounts").Name(account).SubResource("token").Body(r).Do(ctx), &authenticationv1.TokenRequest{})
}

func (c *cluster) createEvent(ctx context.Context, e *corev1.Event) error {
	return c.core.Post().Namespace(e.Namespace).Resource("events").Body(e).Do(ctx).Error()
}

// patchEvent updates how often an event has happened, and when last.
func (c *cluster) patchEvent(ctx context.Context, e *corev1.Event) error {
	body, err := json.Marshal(map[string]any{"count": e.Count, "lastTimestamp": e.LastTimestamp})
	if err != nil {
		return err
	}
	return c.core.Patch(types.StrategicMergePatchType).Namespace(e.Namespace).Resource("events").Name(e.Name).Body(body).Do(ctx).Error()
}

const leaseNamespace = corev1.NamespaceNodeLease

func (c *cluster) lease(ctx context.Context, name string) (*coordinationv1.Lease, error) {
	return into(c.coordination.Get().Namespace(leaseNamespace).Resource("leases").Name(name).Do(ctx), &coordinationv1.Lease{})
}

func (c *cluster) createLease(ctx context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return into(c.coordination.Post().Namespace(leaseNamespace).Resource("leases").Body(l).Do(ctx), &coordinationv1.Lease{})
}

func (c *cluster) updateLease(ctx context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return into(c.coordination.Put().Namespace(leaseNamespace).Resource("leases").Name(l.Name).Body(l).Do(ctx), &coordinationv1.Lease{})
}

func (c *cluster) csiNode(ctx context.Context, name string) (*storagev1.CSINode, error) {
	return into(c.storage.Get().Resource("csinodes").Name(name).Do(ctx), &storagev1.CSINode{})
}

func (c *cluster) createCSINode(ctx context.Context, n *storagev1.CSINode) error {
	return c.storage.Post().Resource("csinodes").Body(n).Do(ctx).Error()
}

// updateCSINode replaces the CSINode object, unless it has changed since it was read.
func (c *cluster) updateCSINode(ctx context.Context, n *storagev1.CSINode) (*storagev1.CSINode, error) {
	return into(c.storage.Put().Resource("csinodes").Name(n.Name).Body(n).Do(ctx), &storagev1.CSINode{})
}

// attachment reads a VolumeAttachment object. Nodes may not watch them.
func (c *cluster) attachment(ctx context.Context, name string) (*storagev1.VolumeAttachment, error) {
	return into(c.storage.Get().Resource("volumeattachments").Name(name).Do(ctx), &storagev1.VolumeAttachment{})
}

func (c *cluster) csiDriver(ctx context.Context, name string) (*storagev1.CSIDriver, error) {
	return into(c.storage.Get().Resource("csidrivers").Name(name).Do(ctx), &storagev1.CSIDriver{})
}
