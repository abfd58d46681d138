package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// stats measures what it costs to report the usage of pods.
func (b *suite) stats(ctx context.Context) error {
	n := b.sizes.crowds[len(b.sizes.crowds)-1]
	pods := map[*column][]pod{}
	if err := b.gather(ctx, pods, n); err != nil {
		return err
	}
	if err := b.getStats(ctx, n); err != nil {
		return err
	}
	if err := b.scraped(ctx, n); err != nil {
		return err
	}
	if err := b.eachAgent(func(c *column) error { return c.clear(ctx, pods[c]...) }); err != nil {
		return err
	}
	return b.growth(ctx)
}

// statsPaths lists the paths that scrapers read.
var statsPaths = [...]reads{
	{path: "/stats/summary", aim: atMost(15, "ms")},
	{path: "/metrics/cadvisor", cpuAim: atMost(60, "ms")},
	{path: "/metrics/resource", aim: atMost(10, "ms")},
	{path: "/metrics"},
}

// getStats reads the usage as scrapers do, with a pause after which it has to be collected afresh.
func (b *suite) getStats(ctx context.Context, n int) error {
	for _, r := range statsPaths {
		r.times, r.apart = b.sizes.scrapes, scrapePause
		if err := b.read(ctx, fmt.Sprintf("GET %s of %d pods", r.path, n), r); err != nil {
			return err
		}
	}
	return nil
}

const (
	scrapePause    = 1100 * time.Millisecond // longer than the agent shares one collection among readers
	scrapeInterval = 10 * time.Second        // the interval of an eager scraper
)

// scraped measures agents whose only work is to report the usage of their pods.
func (b *suite) scraped(ctx context.Context, n int) error {
	own := newUsage()
	look := func(c *column) error { return own.look(c.name, c.process.Pid()) }
	if err := b.eachAgent(look); err != nil {
		return err
	}
	interval := min(scrapeInterval, b.sizes.idle)
	for range b.sizes.idle / interval {
		err := b.eachAgent(func(c *column) error {
			for _, r := range statsPaths {
				if _, err := c.web.drain(ctx, http.MethodGet, c.web.plain+r.path); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := pause(ctx, interval); err != nil {
			return err
		}
	}
	if err := b.eachAgent(look); err != nil {
		return err
	}
	what := fmt.Sprintf("%d pods, all of that every %s: CPU of the agent", n, interval)
	b.add(what, "% of a core", own.share, atMost(2, "%"))
	return nil
}
