package reconciler

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/store"
)

// ClaimDrivers are the drivers of devices that resource claims allocate. A driver may be asked for the same thing again.
type ClaimDrivers interface {
	// Find fails if a driver is not there.
	Find(driver string) error
	// Hold waits until nothing else is done about claims at a driver, and returns the function that ends this.
	Hold(ctx context.Context, driver string, claims []node.ClaimRef) (release func(), err error)
	// Prepare has a driver prepare claims. It returns the answers for those that are prepared, also beside an error.
	Prepare(ctx context.Context, driver string, claims []node.ClaimRef) (map[types.UID][]node.PreparedDevice, error)
	// Unprepare has a driver take back claims.
	Unprepare(ctx context.Context, driver string, claims []node.ClaimRef) error
	// Handled is told how long it took to do something about all claims of a pod.
	Handled(operation string, err error, took time.Duration)
}

// prepareClaims has the drivers of a pod's claims prepare them. That a driver is asked is recorded before, and its answer
// before it is used. A pod for which a driver is missing has no record, so that it can go without that driver.
func (a Act) prepareClaims(ctx context.Context, key node.Key, pod *node.Pod, boot string) error {
	began := a.Clock()
	err := a.prepareAll(ctx, key, pod, boot)
	a.Claims.Handled("PrepareResources", err, a.Clock().Sub(began))
	if err != nil {
		return &node.Failure{Reason: node.FailedPrepareClaims, Err: fmt.Errorf("prepare dynamic resources: %w", err)}
	}
	return nil
}

func (a Act) prepareAll(ctx context.Context, key node.Key, pod *node.Pod, boot string) error {
	drivers := driversOf(pod, (*node.DeviceClaim).AllocatedTo)
	for _, driver := range drivers {
		if err := a.Claims.Find(driver); err != nil {
			return err
		}
	}
	for _, driver := range drivers {
		if err := a.prepareAt(ctx, key, pod, driver, boot); err != nil {
			return err
		}
	}
	return nil
}

// prepareAt has one driver prepare those claims of a pod that it has not prepared for another pod since the machine was
// booted.
func (a Act) prepareAt(ctx context.Context, key node.Key, pod *node.Pod, driver, boot string) error {
	release, err := a.Claims.Hold(ctx, driver, claimsOf(pod, driver, (*node.DeviceClaim).AllocatedTo))
	if err != nil {
		return err
	}
	defer release()
	ask, err := a.enlist(key, pod.UID(), driver, boot)
	if len(ask) == 0 || err != nil {
		return err
	}
	answers, failed := a.Claims.Prepare(ctx, driver, ask)
	err = a.changeClaims(key, pod.UID(), func(_ *store.Tx, c *node.DeviceClaim) bool {
		devices, done := answers[c.UID]
		if _, listed := c.Drivers[driver]; !done || !listed {
			return false
		}
		c.Drivers[driver] = node.PreparedClaim{Done: true, Boot: boot, Devices: devices}
		return true
	})
	if failed != nil {
		return failed
	}
	return err
}

// enlist records that a driver is about to be asked for the claims of a pod, and returns those for which it has to be. What
// the driver has answered for another pod is taken over.
func (a Act) enlist(key node.Key, uid types.UID, driver, boot string) (ask []node.ClaimRef, err error) {
	err = a.changeClaims(key, uid, func(tx *store.Tx, c *node.DeviceClaim) bool {
		have, listed := c.Drivers[driver]
		if have.Since(boot) || !slices.Contains(c.AllocatedTo(), driver) {
			return false
		}
		if done, ok := preparedFor(tx.All(), key, c.UID, driver); ok && done.Since(boot) {
			c.Drivers[driver] = done
			return true
		}
		ref := node.ClaimRef{Namespace: key.Namespace, Name: c.Claim, UID: c.UID}
		if !slices.Contains(ask, ref) {
			ask = append(ask, ref)
		}
		c.Drivers[driver] = have
		return !listed
	})
	return ask, err
}

// unprepareClaims has drivers take back the claims of a pod, except for those that other pods use. A driver that fails holds
// up no other.
func (a Act) unprepareClaims(ctx context.Context, key node.Key, pod *node.Pod) (err error) {
	began := a.Clock()
	for _, driver := range driversOf(pod, asked) {
		if fault := a.unprepareAt(ctx, key, pod, driver); err == nil {
			err = fault
		}
	}
	a.Claims.Handled("UnprepareResources", err, a.Clock().Sub(began))
	if err != nil {
		return &node.Failure{Reason: node.FailedUnprepareClaims, Err: fmt.Errorf("unprepare dynamic resources: %w", err)}
	}
	return nil
}

func (a Act) unprepareAt(ctx context.Context, key node.Key, pod *node.Pod, driver string) error {
	claims := claimsOf(pod, driver, asked)
	release, err := a.Claims.Hold(ctx, driver, claims)
	if err != nil {
		return err
	}
	defer release()
	views, _ := a.Store.Views()
	last := slices.DeleteFunc(slices.Clone(claims), func(c node.ClaimRef) bool {
		_, used := preparedFor(slotsOf(views), key, c.UID, driver)
		return used
	})
	if len(last) > 0 {
		if err := a.unrely(key, pod.UID(), driver); err != nil {
			return err
		}
		if err := a.Claims.Unprepare(ctx, driver, last); err != nil {
			return err
		}
	}
	return a.changeClaims(key, pod.UID(), func(tx *store.Tx, c *node.DeviceClaim) bool {
		_, listed := c.Drivers[driver]
		delete(c.Drivers, driver)
		tx.Reserved()
		return listed
	})
}

// unrely records that claims are no longer prepared at a driver, before it is asked to take them back. It may do so and fail,
// and another pod must not take over its former answer then.
func (a Act) unrely(key node.Key, uid types.UID, driver string) error {
	return a.changeClaims(key, uid, func(tx *store.Tx, c *node.DeviceClaim) bool {
		have, listed := c.Drivers[driver]
		if listed {
			c.Drivers[driver] = node.PreparedClaim{}
		}
		tx.Reserved()
		return listed && have.Done
	})
}

// preparedFor returns what a driver has answered for a claim of another pod than that of a key, and whether it was asked for
// one. A claim is its namespace's alone: a caller that may post pods in one gets nothing of another by naming a UID.
func preparedFor(
	slots iter.Seq2[node.Key, *node.Slot], key node.Key, claim types.UID, driver string,
) (best node.PreparedClaim, asked bool) {
	for other, slot := range slots {
		if other == key || other.Namespace != key.Namespace {
			continue
		}
		for _, c := range slot.Pod.Claims {
			if done, ok := c.Drivers[driver]; ok && c.UID == claim {
				if asked = true; done.Done {
					best = done
				}
			}
		}
	}
	return best, asked
}

// changeClaims changes the claims in the record of a pod, if change reports a change of one of them.
func (a Act) changeClaims(key node.Key, uid types.UID, change func(*store.Tx, *node.DeviceClaim) bool) error {
	return a.Store.Update(key, uid, func(tx *store.Tx, slot *node.Slot) {
		pod, news := *slot.Pod, false
		pod.Claims = slices.Clone(pod.Claims)
		for i := range pod.Claims {
			c := &pod.Claims[i]
			if c.Drivers = maps.Clone(c.Drivers); c.Drivers == nil {
				c.Drivers = map[string]node.PreparedClaim{}
			}
			news = change(tx, c) || news
		}
		if news {
			slot.Pod = &pod
			tx.Put(key, slot)
		}
	})
}

// asked returns the drivers that were asked to prepare a claim, in order.
func asked(c *node.DeviceClaim) []string { return slices.Sorted(maps.Keys(c.Drivers)) }

// driversOf returns the drivers of a pod's claims, in order.
func driversOf(pod *node.Pod, of func(*node.DeviceClaim) []string) (drivers []string) {
	for i := range pod.Claims {
		drivers = append(drivers, of(&pod.Claims[i])...)
	}
	slices.Sort(drivers)
	return slices.Compact(drivers)
}

// claimsOf returns the claims of a pod that concern a driver, each once and in order: two pods hold theirs in the same one.
func claimsOf(pod *node.Pod, driver string, of func(*node.DeviceClaim) []string) (claims []node.ClaimRef) {
	for i := range pod.Claims {
		if c := &pod.Claims[i]; slices.Contains(of(c), driver) {
			claims = append(claims, pod.ClaimRef(c))
		}
	}
	slices.SortFunc(claims, func(a, b node.ClaimRef) int { return strings.Compare(string(a.UID), string(b.UID)) })
	return slices.Compact(claims)
}
