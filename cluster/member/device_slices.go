package member

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// deviceSlices removes the ResourceSlices of this node from the cluster whose drivers have gone: pods would be bound to the
// node for devices that no driver prepares. Drivers publish and remove theirs themselves as long as they run.
type deviceSlices struct {
	nodeName string
	cluster  *cluster
	node     nodev1.NodeServiceClient
	log      *slog.Logger

	gone map[string]time.Time // since when each driver is away that was seen; zero: it is there
}

// Times of looks at the drivers. A driver that is updated comes back sooner, as in Kubernetes.
const (
	slicesEvery = 10 * time.Second
	slicesGrace = 30 * time.Second
)

// run looks at the drivers until the context ends. Those that a former agent knew have the usual time to come back.
func (s *deviceSlices) run(ctx context.Context) {
	tick := time.NewTicker(slicesEvery)
	defer tick.Stop()
	var former bool
	for began := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			err := s.look(ctx, now)
			if err == nil && !former && now.Sub(began) >= slicesGrace {
				err = s.wipeFormer(ctx)
				former = err == nil
			}
			if err != nil && ctx.Err() == nil {
				s.log.Warn("cannot remove the ResourceSlices of drivers that have gone yet", "err", err)
			}
		}
	}
}

// look removes the slices of drivers that went away a while ago.
func (s *deviceSlices) look(ctx context.Context, now time.Time) error {
	reply, err := s.node.ListPlugins(ctx, &nodev1.ListPluginsRequest{})
	if err != nil {
		return fmt.Errorf("ask the node for its plugins: %w", err)
	}
	var there []string
	for _, p := range reply.GetPlugins() {
		if p.GetType() == node.DRAPlugin && p.GetRegistered() && p.GetConnected() {
			there = append(there, p.GetName())
		}
	}
	for _, driver := range s.overdue(there, now) {
		if err := s.wipe(ctx, driver); err != nil {
			return err
		}
		delete(s.gone, driver)
	}
	return nil
}

// overdue notes which drivers are there, and returns those that went away a while ago.
func (s *deviceSlices) overdue(there []string, now time.Time) (drivers []string) {
	for _, driver := range there {
		s.gone[driver] = time.Time{}
	}
	for _, driver := range slices.Sorted(maps.Keys(s.gone)) {
		since := s.gone[driver]
		switch {
		case slices.Contains(there, driver):
		case since.IsZero():
			s.gone[driver] = now
		case now.Sub(since) >= slicesGrace:
			drivers = append(drivers, driver)
		}
	}
	return drivers
}

// wipeFormer removes the slices of drivers that are not there and that this agent has never seen.
func (s *deviceSlices) wipeFormer(ctx context.Context) error {
	of := fields.Set{"spec.nodeName": s.nodeName}.String()
	list, err := into(s.cluster.resources.Get().Resource("resourceslices").Param("fieldSelector", of).Do(ctx), &resourcev1.ResourceSliceList{})
	if apierrors.IsNotFound(err) {
		return nil // the cluster has none
	}
	if err != nil {
		return fmt.Errorf("list the ResourceSlices of the node: %w", err)
	}
	for i := range list.Items {
		driver := list.Items[i].Spec.Driver
		if _, seen := s.gone[driver]; seen {
			continue
		}
		if err := s.wipe(ctx, driver); err != nil {
			return err
		}
	}
	return nil
}

// wipe removes the slices of one driver.
func (s *deviceSlices) wipe(ctx context.Context, driver string) error {
	of := fields.Set{"spec.nodeName": s.nodeName, "spec.driver": driver}.String()
	err := s.cluster.resources.Delete().Resource("resourceslices").Param("fieldSelector", of).Do(ctx).Error()
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the ResourceSlices of driver %s: %w", driver, err)
	}
	s.log.Info("removed the ResourceSlices of a driver that is not there", "driver", driver)
	return nil
}
