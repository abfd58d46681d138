package member

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	nodev1 "nodal/api/gen/node/v1"
)

// place is the Node object of this node.
type place struct {
	config   Config
	cluster  *cluster
	node     nodev1.NodeServiceClient
	imagesOf nodev1.ImagesServiceClient
	inform   func(ctx context.Context, reason, message string) // whoever looks at the node in the cluster
	log      *slog.Logger
	now      func() time.Time

	sent      corev1.NodeStatus
	sentAt    time.Time
	addressed bool // the Node object has addresses
	images    []corev1.ContainerImage
	imagesAt  time.Time
}

// register creates the Node object, or updates the labels of the existing one.
func (p *place) register(ctx context.Context) error {
	info, err := p.node.GetNode(ctx, &nodev1.GetNodeRequest{})
	if err != nil {
		return fmt.Errorf("ask the node what it is: %w", err)
	}
	found, err := p.cluster.node(ctx, p.config.NodeName)
	switch {
	case apierrors.IsNotFound(err) && p.config.Register:
		return p.create(ctx, info)
	case err != nil:
		return fmt.Errorf("read Node %s: %w", p.config.NodeName, err)
	case !p.config.Register:
		return nil
	}
	p.sent, p.addressed = found.Status, len(found.Status.Addresses) > 0 // transitions are counted from what the cluster has
	return p.label(ctx, info, found)
}

// label gives the Node object this node's labels. What the cluster forbids keeps the
// node out no more than a label that it lacks.
func (p *place) label(ctx context.Context, info *nodev1.GetNodeResponse, found *corev1.Node) error {
	missing := map[string]string{}
	for name, value := range p.labels(info) {
		if found.Labels[name] != value {
			missing[name] = value
		}
	}
	if len(missing) == 0 {
		return nil
	}
	change := map[string]any{"metadata": map[string]any{"labels": missing}}
	err := p.cluster.patchNode(ctx, p.config.NodeName, change)
	if rejected(err) {
		p.log.Error("the cluster refuses labels of the node", "labels", missing, "err", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("label Node %s: %w", p.config.NodeName, err)
	}
	return nil
}

func (p *place) create(ctx context.Context, info *nodev1.GetNodeResponse) error {
	p.lookAtImages(ctx)
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: p.config.NodeName, Labels: p.labels(info)},
		Spec:       corev1.NodeSpec{ProviderID: p.config.ProviderID, Taints: p.config.Taints},
		Status:     p.status(info),
	}
	if err := p.cluster.createNode(ctx, n); err != nil {
		return fmt.Errorf("make Node %s: %w", n.Name, err)
	}
	p.log.Info("the node is registered", "node", n.Name)
	p.announce(ctx, n.Status)
	return nil
}

// announce stores the status that the cluster has now, and sends an event for each
// condition that has changed.
func (p *place) announce(ctx context.Context, status corev1.NodeStatus) {
	for _, c := range status.Conditions {
		same := func(b corev1.NodeCondition) bool { return b.Type == c.Type && b.Status == c.Status }
		if word := turned(c); word != "" && !slices.ContainsFunc(p.sent.Conditions, same) {
			p.inform(ctx, word, fmt.Sprintf("Node %s status is now: %s", p.config.NodeName, word))
		}
	}
	p.sent, p.sentAt = status, p.now()
	p.addressed = p.addressed || len(status.Addresses) > 0
}

// shown replaces the remembered conditions by those that the cluster shows now.
// The next update then sends a condition that the cluster has changed.
func (p *place) shown(found *corev1.Node) {
	var shown []corev1.NodeCondition
	for _, c := range p.sent.Conditions {
		for _, there := range found.Status.Conditions {
			if there.Type == c.Type {
				shown = append(shown, there)
			}
		}
	}
	p.sent.Conditions = shown
}

// labels are the node's, as far as a cluster would take them from it.
func (p *place) labels(info *nodev1.GetNodeResponse) map[string]string {
	labels := map[string]string{}
	for name, value := range info.GetLabels() {
		if mayLabel(name) {
			labels[name] = value
		}
	}
	maps.Copy(labels, p.config.Labels)
	return labels
}

// run keeps the status of the Node object true.
func (p *place) run(ctx context.Context) {
	p.inform(ctx, "Starting", "Starting kubelet.")
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		once, cancel := context.WithTimeout(ctx, p.config.StatusEvery)
		defer cancel()
		if err := p.update(once); err != nil && ctx.Err() == nil {
			p.log.Warn("cannot update the node's status", "err", err)
		}
	}, p.config.StatusEvery)
}

// update sends the status if it has changed, if the cluster shows another or none, or if it
// has not been sent for long. It creates a deleted Node object again.
func (p *place) update(ctx context.Context) error {
	info, err := p.node.GetNode(ctx, &nodev1.GetNodeRequest{})
	if err != nil {
		return fmt.Errorf("ask the node how it is: %w", err)
	}
	found, err := p.cluster.nodeLately(ctx, p.config.NodeName)
	gone := apierrors.IsNotFound(err)
	if err != nil && !gone {
		return fmt.Errorf("read Node %s: %w", p.config.NodeName, err)
	}
	if !gone {
		p.shown(found)
	}
	p.lookAtImages(ctx)
	status := p.status(info)
	p.since(&status)
	if p.config.ExternalCloud && p.addressed {
		status.Addresses = nil // they are the cloud's to say
	}
	if !gone && sameBut(p.sent, status) && p.now().Sub(p.sentAt) < p.config.StatusAtMost {
		return nil
	}
	err = p.cluster.patchNode(ctx, p.config.NodeName, map[string]any{"status": patchOf(status)}, "status")
	if apierrors.IsNotFound(err) && p.config.Register {
		return p.create(ctx, info)
	}
	if err != nil {
		return fmt.Errorf("send the status: %w", err)
	}
	p.announce(ctx, status)
	return nil
}
