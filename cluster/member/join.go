package member

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	nodev1 "nodal/api/gen/node/v1"
)

// nodeObject keeps the cluster's Node object of this node true.
type nodeObject struct {
	config   Config
	cluster  *cluster
	node     nodev1.NodeServiceClient
	imagesOf nodev1.ImagesServiceClient
	inform   func(ctx context.Context, warning bool, reason, message string) // sends an event of the node
	log      *slog.Logger
	now      func() time.Time

	subnets   *subnets
	sent      corev1.NodeStatus // the status that the cluster has
	sentAt    time.Time
	given     map[string]string // the labels that the Node object last got; nil before the first time
	addressed bool              // the Node object has addresses
	cordoned  bool              // the Node object takes no pods
	images    []corev1.ContainerImage
	imagesAt  time.Time
}

// annotationVersion is the version of the node's program. The Node object's own field is that of Kubernetes.
const annotationVersion = "nodal.node/version"

// annotationGivenIPs tells a cloud controller which of the machine's addresses is the node's. Controllers refuse a node
// that names an address which the cloud does not know.
const annotationGivenIPs = "alpha.kubernetes.io/provided-node-ip"

// register creates the Node object, or updates the labels and annotations of the existing one.
func (n *nodeObject) register(ctx context.Context) error {
	info, err := n.node.GetNode(ctx, &nodev1.GetNodeRequest{})
	if err != nil {
		return fmt.Errorf("read the node: %w", err)
	}
	found, err := n.cluster.node(ctx, n.config.NodeName)
	switch {
	case apierrors.IsNotFound(err) && n.config.Register:
		return n.create(ctx, info)
	case err != nil:
		return fmt.Errorf("read Node %s: %w", n.config.NodeName, err)
	case !n.config.Register:
		return nil
	}
	// Times of transitions go on from those that the cluster has.
	n.sent, n.addressed = found.Status, len(found.Status.Addresses) > 0
	if err := n.label(ctx, info, found); err != nil {
		return err
	}
	n.given = n.labels(info)
	return nil
}

// label gives the Node object this node's labels and annotations. What the cluster refuses is logged: the node can do
// without it.
func (n *nodeObject) label(ctx context.Context, info *nodev1.GetNodeResponse, found *corev1.Node) error {
	missing := map[string]any{}
	if labels := differing(n.labels(info), found.Labels); len(labels) > 0 {
		missing["labels"] = labels
	}
	wanted := n.annotations(info)
	annotations := map[string]any{}
	for name, value := range differing(wanted, found.Annotations) {
		annotations[name] = value
	}
	if _, old := found.Annotations[annotationGivenIPs]; old && wanted[annotationGivenIPs] == "" {
		annotations[annotationGivenIPs] = nil
	}
	if len(annotations) > 0 {
		missing["annotations"] = annotations
	}
	if len(missing) == 0 {
		return nil
	}
	err := n.cluster.patchNode(ctx, n.config.NodeName, map[string]any{"metadata": missing})
	if rejected(err) {
		n.log.Error("the cluster refuses labels of the node", "labels", missing, "err", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("label Node %s: %w", n.config.NodeName, err)
	}
	return nil
}

// relabel gives the Node object those labels of the node that have changed, and takes those that the node no longer has.
// Labels that others change stay as they are, as upstream has it.
func (n *nodeObject) relabel(ctx context.Context, info *nodev1.GetNodeResponse, found *corev1.Node) error {
	wanted := n.labels(info)
	if n.given == nil || maps.Equal(wanted, n.given) {
		return nil
	}
	changes := map[string]any{}
	for name, value := range differing(wanted, n.given) {
		changes[name] = value
	}
	for name := range n.given {
		if _, stays := wanted[name]; !stays && found.Labels[name] == n.given[name] {
			changes[name] = nil
		}
	}
	err := n.cluster.patchNode(ctx, n.config.NodeName, map[string]any{"metadata": map[string]any{"labels": changes}})
	if rejected(err) {
		n.log.Error("the cluster refuses labels of the node", "labels", changes, "err", err)
	} else if err != nil {
		return fmt.Errorf("label Node %s: %w", n.config.NodeName, err)
	}
	n.given = wanted
	return nil
}

// create creates the Node object.
func (n *nodeObject) create(ctx context.Context, info *nodev1.GetNodeResponse) error {
	n.lookAtImages(ctx)
	made := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.config.NodeName, Labels: n.labels(info), Annotations: n.annotations(info)},
		Spec:       corev1.NodeSpec{ProviderID: n.config.ProviderID, Taints: n.config.Taints},
		Status:     n.status(info),
	}
	if err := n.cluster.createNode(ctx, made); err != nil {
		return fmt.Errorf("create Node %s: %w", made.Name, err)
	}
	n.given = made.Labels
	n.log.Info("the node is registered", "node", made.Name)
	n.announce(ctx, made.Status)
	return nil
}

// announce stores the status that the cluster has now, and sends an event for each condition that has changed, and if the
// machine has booted since the last status.
func (n *nodeObject) announce(ctx context.Context, status corev1.NodeStatus) {
	if was, is := n.sent.NodeInfo.BootID, status.NodeInfo.BootID; was != "" && was != is {
		n.inform(ctx, true, "Rebooted", fmt.Sprintf("Node %s has been rebooted, boot id: %s", n.config.NodeName, is))
	}
	for _, c := range status.Conditions {
		same := func(b corev1.NodeCondition) bool { return b.Type == c.Type && b.Status == c.Status }
		if reason := reasonOf(c); reason != "" && !slices.ContainsFunc(n.sent.Conditions, same) {
			n.tellState(ctx, reason)
		}
	}
	n.sent, n.sentAt = status, n.now()
	n.addressed = n.addressed || len(status.Addresses) > 0
}

// tellState sends an event about the node's state, in upstream's words.
func (n *nodeObject) tellState(ctx context.Context, reason string) {
	n.inform(ctx, false, reason, fmt.Sprintf("Node %s status is now: %s", n.config.NodeName, reason))
}

// tellCordon sends an event when the node was cordoned, or takes pods again.
func (n *nodeObject) tellCordon(ctx context.Context, cordoned bool) {
	switch {
	case cordoned && !n.cordoned:
		n.tellState(ctx, "NodeNotSchedulable")
	case !cordoned && n.cordoned:
		n.tellState(ctx, "NodeSchedulable")
	}
	n.cordoned = cordoned
}

// remember replaces the stored conditions by those that the cluster shows. The next update then sends a condition
// that another client has changed.
func (n *nodeObject) remember(found *corev1.Node) {
	var shown []corev1.NodeCondition
	for _, c := range n.sent.Conditions {
		for _, there := range found.Status.Conditions {
			if there.Type == c.Type {
				shown = append(shown, there)
			}
		}
	}
	n.sent.Conditions = shown
}

// formerLabels are the old names of labels, which upstream's kubelet still sets.
var formerLabels = map[string]string{"beta.kubernetes.io/arch": corev1.LabelArchStable, "beta.kubernetes.io/os": corev1.LabelOSStable}

// labels returns the node's labels that a cluster takes from it, and those of the configuration.
func (n *nodeObject) labels(info *nodev1.GetNodeResponse) map[string]string {
	labels := map[string]string{}
	for name, value := range info.GetLabels() {
		if mayLabel(name) {
			labels[name] = value
		}
	}
	for old, name := range formerLabels {
		if value, ok := labels[name]; ok {
			labels[old] = value
		}
	}
	maps.Copy(labels, n.config.Labels)
	return labels
}

// annotationAttach has the cluster's controller attach volumes to the node. Upstream's kubelet may do that itself.
const annotationAttach = "volumes.kubernetes.io/controller-managed-attach-detach"

// annotations returns the node's annotations.
func (n *nodeObject) annotations(info *nodev1.GetNodeResponse) map[string]string {
	all := map[string]string{annotationAttach: "true"}
	if info.GetVersion() != "" {
		all[annotationVersion] = info.GetVersion()
	}
	if given := n.givenIPs(); given != "" {
		all[annotationGivenIPs] = given
	}
	return all
}

// givenIPs returns the addresses that a cloud controller is told of; empty if there is none, or no address is named.
func (n *nodeObject) givenIPs() string {
	if !n.config.ExternalCloud || slices.ContainsFunc(n.config.GivenIPs, netip.Addr.IsUnspecified) {
		return ""
	}
	var texts []string
	for _, ip := range n.config.GivenIPs {
		texts = append(texts, ip.String())
	}
	return strings.Join(texts, ",")
}

// differing returns the entries of wanted that are missing in found, or have another value there.
func differing(wanted, found map[string]string) map[string]string {
	missing := map[string]string{}
	for name, value := range wanted {
		if there, ok := found[name]; !ok || there != value {
			missing[name] = value
		}
	}
	return missing
}

// run keeps the status of the Node object true until the context ends.
func (n *nodeObject) run(ctx context.Context) {
	n.inform(ctx, false, "Starting", "Starting kubelet.")
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		once, cancel := context.WithTimeout(ctx, n.config.StatusEvery)
		defer cancel()
		if err := n.update(once); err != nil && ctx.Err() == nil {
			n.log.Warn("cannot update the node's status", "err", err)
		}
	}, n.config.StatusEvery)
}

// update sends the status if it has changed, if the cluster shows another or none, or if the last report is old. It
// creates a deleted Node object again.
func (n *nodeObject) update(ctx context.Context) error {
	info, err := n.node.GetNode(ctx, &nodev1.GetNodeRequest{})
	if err != nil {
		return fmt.Errorf("read the node: %w", err)
	}
	found, err := n.cluster.nodeLately(ctx, n.config.NodeName)
	gone := apierrors.IsNotFound(err)
	if err != nil && !gone {
		return fmt.Errorf("read Node %s: %w", n.config.NodeName, err)
	}
	if !gone {
		n.remember(found)
		n.tellCordon(ctx, found.Spec.Unschedulable)
		if err := n.subnets.tell(ctx, found.Spec.PodCIDRs); err != nil {
			n.log.Warn("the node does not use the subnets of its pods yet", "subnets", found.Spec.PodCIDRs, "err", err)
		}
		if err := n.relabel(ctx, info, found); err != nil {
			return err
		}
	}
	n.lookAtImages(ctx)
	status := n.status(info)
	n.keepTransitions(&status)
	if n.config.ExternalCloud && n.addressed {
		status.Addresses = nil // the cloud controller sets them
	}
	if !gone && sameButTimes(n.sent, status) && n.now().Sub(n.sentAt) < n.config.StatusAtMost {
		return nil
	}
	err = n.cluster.patchNode(ctx, n.config.NodeName, map[string]any{"status": patchOf(status)}, "status")
	if apierrors.IsNotFound(err) && n.config.Register {
		return n.create(ctx, info)
	}
	if err != nil {
		return fmt.Errorf("send the status: %w", err)
	}
	n.announce(ctx, status)
	return nil
}
