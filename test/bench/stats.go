package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// stats looks at what it costs to tell what pods use.
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

// getStats reads what pods use as scrapers do: with a pause in between, after which
// figures have to be collected anew.
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
	scrapePause    = 1100 * time.Millisecond // longer than figures are kept for readers that come together
	scrapeInterval = 10 * time.Second        // of a scraper in a hurry
)

// scraped measures agents that have nothing to do but to say what their pods use.
func (b *suite) scraped(ctx context.Context, n int) error {
	own := newUsage()
	look := func(c *column) error { return own.look(c.name, c.process.pid()) }
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
