package agent

import (
	"context"
	"io/fs"
	"log/slog"
	goruntime "runtime"
	"sync"
	"time"

	"nodal/agent/offering"
	"nodal/host/machine"
	"nodal/host/topology"
	"nodal/node/assign"
	"nodal/node/offer"
	"nodal/node/store"
)

// newOwner returns the owner of the node's offer, which has posted the first one. look returns the machine's
// resources now. rules returns the rules of assignment, given the bytes of memory that are kept from pods.
func newOwner(
	terms offering.Terms, look func() (offering.Facts, error), rules func(kept int64) (*assign.Rules, error),
	board *offer.Board, log *slog.Logger,
) (*offering.Owner, error) {
	facts, err := look()
	if err != nil {
		return nil, err
	}
	without, err := terms.Offer(facts)
	if err != nil {
		return nil, err
	}
	kept := without.Capacity.Memory().Value() - without.Allocatable.Memory().Value() - facts.InHugePages()
	if terms.Assign, err = rules(kept); err != nil {
		return nil, err
	}
	owner := &offering.Owner{Look: look, Terms: terms, Board: board, Log: log}
	return owner, owner.Begin()
}

// followOffer keeps the offer up to date until the context ends. watch calls wake for each change of the machine's
// devices, listed is closed when plugins list other devices, and renew looks at all of it when woken.
func followOffer(
	ctx context.Context, watch func(_ context.Context, wake func(), subsystems ...string) error, listed func() <-chan struct{},
	renew func(_ context.Context, woken <-chan struct{}), log *slog.Logger,
) {
	woken := make(chan struct{}, 1)
	wake := func() {
		select {
		case woken <- struct{}{}:
		default: // the look that is due sees this change too
		}
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			changed := listed()
			wake() // for a change since the last one was heard
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
		}
	})
	group.Go(func() {
		err := watch(ctx, wake, "cpu", "memory")
		if err != nil {
			log.Warn("the node learns later that a CPU came or went", "err", err)
		}
	})
	group.Go(func() { renew(ctx, woken) })
	group.Wait()
}

// withDevices returns a look at the machine that sees the devices on a board, too.
func withDevices(look func() (offering.Facts, error), board *store.Devices, now func() time.Time) func() (offering.Facts, error) {
	return func() (offering.Facts, error) {
		f, err := look()
		for _, r := range board.List() {
			if f.Devices == nil {
				f.Devices = assign.Devices{}
			}
			f.Devices[r.Name] = r.Offered(now())
		}
		return f, err
	}
}

// resources returns the resources of the machine whose files lie in root, and whose /sys is sys. The size of the
// disk stays the one of the start.
func resources(root, sys fs.FS, disk int64) (f offering.Facts, err error) {
	if f.Machine, err = machine.Resources(root); err != nil {
		return f, err
	}
	f.Disk = disk
	if f.Online, err = topology.Online(sys); err != nil {
		f.CPUs = goruntime.NumCPU() // the CPUs that the agent may run on
		return f, nil
	}
	f.CPUs = f.Online.Size()
	return f, nil
}
