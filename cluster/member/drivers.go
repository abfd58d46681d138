package member

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// annotationNodeIDs tells what CSI drivers call the node, as JSON.
const annotationNodeIDs = "csi.volume.kubernetes.io/nodeid"

// driversEvery is the time between two looks at the node's drivers. driversFresh is the time after which the cluster is
// told of them again, whatever it shows: the CSINode object goes with the Node object.
const (
	driversEvery = 2 * time.Second
	driversFresh = time.Minute
)

// drivers tells the cluster which CSI drivers are registered on the node: in the CSINode object, and by an annotation
// and labels of the Node object. Entries of drivers that it has not seen stay as they are: after a start of the node they
// may only be late.
type drivers struct {
	nodeName string
	cluster  *cluster
	node     nodev1.NodeServiceClient
	log      *slog.Logger
	now      func() time.Time

	attachments *attachments

	told   map[string]*nodev1.CSIDriver // that were here, by name, as the cluster knows them; nil for one that it does not
	toldAt time.Time
	fault  string // that was logged last
}

// run tells the cluster of drivers that come and go, until the context ends.
func (d *drivers) run(ctx context.Context) {
	for ctx.Err() == nil {
		once, cancel := context.WithTimeout(ctx, driversFresh)
		err := d.update(once)
		cancel()
		d.complain(ctx, err)
		select {
		case <-ctx.Done():
		case <-d.attachments.news:
		case <-time.After(driversEvery):
		}
	}
}

// complain logs a fault once, however long it lasts.
func (d *drivers) complain(ctx context.Context, err error) {
	fault := ""
	if err != nil {
		fault = err.Error()
	}
	if fault != "" && fault != d.fault && ctx.Err() == nil {
		d.log.Warn("the cluster does not know all CSI drivers and volumes of the node yet", "err", err)
	}
	d.fault = fault
}

// update tells the cluster what has changed, first of volumes. A driver that it cannot take keeps no other driver out.
func (d *drivers) update(ctx context.Context) error {
	wanted := d.attachments.names()
	reply, err := d.node.ListPlugins(ctx, &nodev1.ListPluginsRequest{})
	if err != nil {
		return fmt.Errorf("ask the node for its plugins: %w", err)
	}
	again := d.now().Sub(d.toldAt) >= driversFresh
	err = errors.Join(d.attachments.report(ctx, wanted, reply.GetCsiVolumes(), again), d.tell(ctx, reply.GetPlugins(), again))
	if again && err == nil {
		d.toldAt = d.now()
	}
	return err
}

// tell tells the cluster of drivers that have come, changed or gone, or again of all.
func (d *drivers) tell(ctx context.Context, plugins []*nodev1.Plugin, again bool) error {
	registered, there := driversIn(plugins)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(registered)) {
		driver := registered[name]
		if known := d.told[name]; known != nil && sameDriver(known, driver) && !again {
			continue
		}
		if err := d.add(ctx, name, driver); err != nil {
			errs = append(errs, fmt.Errorf("tell the cluster of CSI driver %s: %w", name, err))
			continue
		}
		d.told[name] = driver
	}
	for name := range there {
		if d.told[name] == nil {
			d.told[name] = nil // what a former process has said of it goes with it
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.told)) {
		if there[name] {
			continue
		}
		if err := d.remove(ctx, name); err != nil {
			errs = append(errs, fmt.Errorf("tell the cluster that CSI driver %s is gone: %w", name, err))
			continue
		}
		delete(d.told, name)
	}
	return errors.Join(errs...)
}

// driversIn returns the drivers that are registered, and the names of all that are there: a driver that has lost its
// connection may be back at once.
func driversIn(plugins []*nodev1.Plugin) (registered map[string]*nodev1.CSIDriver, there map[string]bool) {
	registered, there = map[string]*nodev1.CSIDriver{}, map[string]bool{}
	for _, p := range plugins {
		if p.GetType() != node.CSIPlugin || p.GetCsi() == nil {
			continue
		}
		there[p.GetName()] = true
		if p.GetConnected() && p.GetRegistered() {
			registered[p.GetName()] = p.GetCsi()
		}
	}
	return registered, there
}

// sameDriver reports whether two answers of a driver say the same to the cluster.
func sameDriver(a, b *nodev1.CSIDriver) bool {
	return a.GetNodeId() == b.GetNodeId() && a.GetMaxVolumes() == b.GetMaxVolumes() && maps.Equal(a.GetTopology(), b.GetTopology())
}

// add tells the cluster of a driver: what it calls the node, where it says that the node is, and then that it is there.
func (d *drivers) add(ctx context.Context, name string, driver *nodev1.CSIDriver) error {
	n, err := d.cluster.node(ctx, d.nodeName)
	if err != nil {
		return fmt.Errorf("read Node %s: %w", d.nodeName, err)
	}
	labels, err := topologyLabels(driver.GetTopology(), n.Labels)
	if err != nil {
		return errors.Join(err, d.remove(ctx, name))
	}
	ids, err := nodeIDs(n)
	if err != nil {
		return err
	}
	changes := map[string]any{}
	if len(labels) > 0 {
		changes["labels"] = labels
	}
	if ids[name] != driver.GetNodeId() {
		ids[name] = driver.GetNodeId()
		changes["annotations"] = map[string]any{annotationNodeIDs: textOf(ids)}
	}
	if err := d.patch(ctx, changes); err != nil {
		return err
	}
	return d.list(ctx, n, entryOf(name, driver))
}

// remove takes a driver that is gone from what the cluster knows. Labels stay: other drivers may share them.
func (d *drivers) remove(ctx context.Context, name string) error {
	found, err := d.cluster.csiNode(ctx, d.nodeName)
	if err == nil {
		_, err = d.unlist(ctx, found, name)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove it from CSINode %s: %w", d.nodeName, err)
	}
	n, err := d.cluster.node(ctx, d.nodeName)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Node %s: %w", d.nodeName, err)
	}
	ids, err := nodeIDs(n)
	if _, has := ids[name]; !has || err != nil {
		return err
	}
	delete(ids, name)
	return d.patch(ctx, map[string]any{"annotations": map[string]any{annotationNodeIDs: textOf(ids)}})
}

// patch changes the metadata of the Node object.
func (d *drivers) patch(ctx context.Context, changes map[string]any) error {
	if len(changes) == 0 {
		return nil
	}
	if err := d.cluster.patchNode(ctx, d.nodeName, map[string]any{"metadata": changes}); err != nil {
		return fmt.Errorf("change Node %s: %w", d.nodeName, err)
	}
	return nil
}

// list puts a driver into the CSINode object. API servers take no change of an entry: one that differs goes first.
func (d *drivers) list(ctx context.Context, n *corev1.Node, entry storagev1.CSINodeDriver) error {
	found, err := d.cluster.csiNode(ctx, d.nodeName)
	if apierrors.IsNotFound(err) {
		return d.cluster.createCSINode(ctx, &storagev1.CSINode{
			ObjectMeta: metav1.ObjectMeta{Name: d.nodeName, OwnerReferences: []metav1.OwnerReference{{
				APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Node", Name: n.Name, UID: n.UID,
			}}},
			Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{entry}},
		})
	}
	if err != nil {
		return fmt.Errorf("read CSINode %s: %w", d.nodeName, err)
	}
	if slices.ContainsFunc(found.Spec.Drivers, func(e storagev1.CSINodeDriver) bool { return equality.Semantic.DeepEqual(e, entry) }) {
		return nil
	}
	if found, err = d.unlist(ctx, found, entry.Name); err == nil {
		found.Spec.Drivers = append(found.Spec.Drivers, entry)
		_, err = d.cluster.updateCSINode(ctx, found)
	}
	if err != nil {
		return fmt.Errorf("add it to CSINode %s: %w", d.nodeName, err)
	}
	return nil
}

// unlist removes a driver from the CSINode object, and returns that as it is then.
func (d *drivers) unlist(ctx context.Context, found *storagev1.CSINode, name string) (*storagev1.CSINode, error) {
	others := slices.DeleteFunc(slices.Clone(found.Spec.Drivers), func(e storagev1.CSINodeDriver) bool { return e.Name == name })
	if len(others) == len(found.Spec.Drivers) {
		return found, nil
	}
	found.Spec.Drivers = others
	return d.cluster.updateCSINode(ctx, found)
}

// entryOf returns what the CSINode object says of a driver.
func entryOf(name string, driver *nodev1.CSIDriver) storagev1.CSINodeDriver {
	entry := storagev1.CSINodeDriver{Name: name, NodeID: driver.GetNodeId(), TopologyKeys: slices.Sorted(maps.Keys(driver.GetTopology()))}
	if most := driver.GetMaxVolumes(); most > 0 {
		entry.Allocatable = &storagev1.VolumeNodeResources{Count: new(int32(min(most, math.MaxInt32)))}
	}
	return entry
}

// topologyLabels returns the labels that a node lacks to show where a driver says that it is. They must not contradict
// those that it has: pods and volumes would be placed by either.
func topologyLabels(topology, labels map[string]string) (missing map[string]string, err error) {
	missing = differing(topology, labels)
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		if there, has := labels[key]; has {
			return nil, fmt.Errorf("detected topology value collision: driver reported %q:%q but existing label is %q:%q",
				key, missing[key], key, there)
		}
	}
	return missing, nil
}

// nodeIDs returns what drivers call the node by its annotation.
func nodeIDs(n *corev1.Node) (map[string]string, error) {
	var ids map[string]string
	text := cmp.Or(n.Annotations[annotationNodeIDs], "{}")
	if err := json.Unmarshal([]byte(text), &ids); err != nil {
		return nil, fmt.Errorf("read annotation %s of Node %s; remove it to have it written anew: %w", annotationNodeIDs, n.Name, err)
	}
	if ids == nil { // it says null
		ids = map[string]string{}
	}
	return ids, nil
}

// textOf returns the annotation for what drivers call the node; nil removes it.
func textOf(ids map[string]string) any {
	if len(ids) == 0 {
		return nil
	}
	text, _ := json.Marshal(ids) // strings have no fault
	return string(text)
}
