package hostile

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Attack holds what each connection does.
type Attack struct {
	Name        string
	Connections int
	Protocols   []string // that the hello offers
	run         func(context.Context, net.Conn) error
}

// Peer is an attacker: its target, and the way by which it connects.
type Peer struct {
	Target netip.AddrPort
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Pods   netip.Prefix // the network of the test's own pods; none if the target is on loopback
}

// Siege is an attack under way.
type Siege struct {
	alive atomic.Int64
	acted sync.WaitGroup // until each connection has done its worst
	ended sync.WaitGroup
	stop  context.CancelFunc
}

const (
	// abreast bounds the handshakes at a time: the attack is on memory, not on processors.
	abreast = 8
	// longest bounds a siege, whatever its context.
	longest = 3 * time.Minute
)

// Besiege starts an attack. Raise ends it.
func (p Peer) Besiege(ctx context.Context, a Attack) (*Siege, error) {
	if !p.Target.Addr().IsLoopback() && !p.Pods.Contains(p.Target.Addr()) {
		return nil, fmt.Errorf("attack %s: neither on loopback nor in the network of the test's pods", p.Target)
	}
	ctx, stop := context.WithTimeout(ctx, longest)
	s := &Siege{stop: stop}
	turns := make(chan struct{}, abreast)
	s.acted.Add(a.Connections)
	for range a.Connections {
		s.ended.Go(func() {
			acted := sync.OnceFunc(s.acted.Done)
			defer acted()
			turns <- struct{}{}
			conn, err := p.open(ctx, a.Protocols)
			<-turns
			if err != nil {
				return
			}
			s.hold(ctx, conn, a, acted)
		})
	}
	return s, nil
}

// hold runs the attack on one connection, calls acted, and then keeps the connection open until the
// server or the siege ends it.
func (s *Siege) hold(ctx context.Context, conn net.Conn, a Attack, acted func()) {
	s.alive.Add(1)
	defer s.alive.Add(-1)
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	_ = a.run(ctx, conn) // the server may end it at any moment, as it should
	acted()
	_, _ = io.Copy(io.Discard, conn)
}

func (p Peer) open(ctx context.Context, protocols []string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	raw, err := p.Dial(ctx, "tcp", p.Target.String())
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, NextProtos: protocols}) // an attacker asks for no proof
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	return conn, nil
}

// AwaitHeight waits until every connection has sent all of its attack or failed, or until ctx ends.
func (s *Siege) AwaitHeight(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		s.acted.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Alive returns the number of connections that the server has not ended.
func (s *Siege) Alive() int { return int(s.alive.Load()) }

// Raise ends the siege, and returns when nothing of it is left on this side.
func (s *Siege) Raise() {
	s.stop()
	s.ended.Wait()
}
