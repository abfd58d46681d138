package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"time"

	"nodal/test/hostile"
)

// strangers measures what clients make our agent hold that have no credential, or one and never read: its memory and
// its open files at the height and a while after, and what an admin waits for an answer on a new connection meanwhile.
func (b *suite) strangers(ctx context.Context) error {
	return b.each(func(c *column) error {
		if c.name != nodalColumn {
			return nil
		}
		at, err := url.Parse(c.web.secure)
		if err != nil {
			return fmt.Errorf("read the agent's address: %w", err)
		}
		target, err := netip.ParseAddrPort(at.Host)
		if err != nil {
			return fmt.Errorf("read the agent's address: %w", err)
		}
		peer := hostile.Peer{Target: target, Dial: new(net.Dialer).DialContext}
		known := append(hostile.Proven(c.web.token), hostile.Watchers(c.web.token))
		return errors.Join(
			b.besiegeBy(ctx, c, peer, append(hostile.All(), hostile.Crowd()), 32),
			b.besiegeBy(ctx, c, peer, known, 128),
		)
	})
}

// besiegeBy measures attacks of callers that may make the agent hold so many MiB.
func (b *suite) besiegeBy(ctx context.Context, c *column, peer hostile.Peer, attacks []hostile.Attack, most float64) error {
	for _, attack := range attacks {
		attack.Connections = min(attack.Connections, b.sizes.hostile)
		if err := b.besiege(ctx, c, peer, attack, most); err != nil {
			return fmt.Errorf("%s: %w", attack.Name, err)
		}
	}
	return nil
}

// besiege measures one attack.
func (b *suite) besiege(ctx context.Context, c *column, peer hostile.Peer, attack hostile.Attack, most float64) error {
	pid := c.process.Pid()
	before, _, err := memory(pid)
	if err != nil {
		return err
	}
	siege, err := peer.Besiege(ctx, attack)
	if err != nil {
		return err
	}
	height, files, took, err := c.endure(ctx, b.sizes.siege)
	siege.Raise()
	if err != nil {
		return err
	}
	if err := pause(ctx, b.sizes.relief); err != nil {
		return err
	}
	after, _, err := memory(pid)
	if err != nil {
		return err
	}
	one := func(value float64) map[string]float64 { return map[string]float64{c.name: value} }
	what := fmt.Sprintf("%d x %s: ", attack.Connections, attack.Name)
	b.add(what+"memory above idle", "MiB", one(max(0, height-before)), atMost(most, "MiB"))
	b.add(what+"memory above idle, afterwards", "MiB", one(max(0, after-before)), aim{})
	b.add(what+"open files", "", one(float64(files)), aim{})
	b.add(what+"an admin's answer, p99", "ms", took.p99(), atMost(100, "ms"))
	return nil
}

// endure asks as an admin over and over for a while. It returns the most memory, in MiB, and the most open files that
// the agent had, and how long the answers took.
func (c *column) endure(ctx context.Context, during time.Duration) (height float64, files int, took samples, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*during)
	defer cancel()
	took = samples{}
	const interval = 50 * time.Millisecond
	for until := time.Now().Add(during); time.Now().Before(until); {
		began := time.Now()
		if err := c.web.askAnew(ctx); err != nil {
			return 0, 0, nil, fmt.Errorf("an admin asks: %w", err)
		}
		took.add(c.name, time.Since(began))
		resident, _, err := memory(c.process.Pid())
		if err != nil {
			return 0, 0, nil, err
		}
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.process.Pid()))
		if err != nil {
			return 0, 0, nil, fmt.Errorf("count open files: %w", err)
		}
		height, files = max(height, resident), max(files, len(open))
		if err := pause(ctx, interval); err != nil {
			return 0, 0, nil, err
		}
	}
	return height, files, took, nil
}

// askAnew asks for the node on a connection of its own.
func (w *web) askAnew(ctx context.Context) error {
	settings := w.client.Transport.(*http.Transport).TLSClientConfig
	anew := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: settings.RootCAs}}
	defer anew.CloseIdleConnections()
	_, err := (&web{client: &http.Client{Transport: anew}, token: w.token}).drain(ctx, http.MethodGet, w.secure+"/v1/node")
	return err
}
