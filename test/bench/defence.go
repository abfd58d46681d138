package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// careless switches off all by which a node defends itself: eviction, the collection of images and logs, rotation, and the
// record of what was used.
var careless = []string{
	"--eviction-hard=memory.available<0%", "--image-gc-high-threshold=100", "--container-log-max-size=-1",
	"--container-log-budget=0", "--usage-history-size=0",
}

// defence measures what an idle node pays for its defence: beside it idles the same node without.
func (b *suite) defence(ctx context.Context) (err error) {
	var nodes []*column
	defer func() {
		for _, c := range nodes {
			err = errors.Join(err, c.process.Stop(syscall.SIGTERM, stopTimeout))
		}
	}()
	for name, flags := range map[string][]string{nodalColumn: nil, rawColumn: careless} {
		c, err := newNodal(b.t, b.binaries.nodal, flags...)
		if err != nil {
			return err
		}
		c.name = name
		nodes = append(nodes, c)
		if err := c.pull(ctx, "probe"); err != nil {
			return err
		}
		if _, err := c.run(ctx, b.newPods(c, b.most())...); err != nil {
			return err
		}
	}
	if err := pause(ctx, b.sizes.settle); err != nil {
		return err
	}
	used, anonymous := newUsage(), map[string]float64{}
	for _, wait := range []bool{true, false} {
		for _, c := range nodes {
			if err := used.look(c.name, c.process.Pid()); err != nil {
				return err
			}
			if _, anonymous[c.name], err = memory(c.process.Pid()); err != nil {
				return err
			}
		}
		if wait {
			if err := pause(ctx, b.sizes.minute); err != nil {
				return err
			}
		}
	}
	what := fmt.Sprintf("defence of %d idle pods (raw: the same node without): ", b.most())
	b.add(what+"CPU of the agent", "% of a core", used.share, moreThanRaw(0.2, "%"))
	b.add(what+"anonymous memory", "MiB", anonymous, moreThanRaw(5, "MiB"))
	return nil
}
