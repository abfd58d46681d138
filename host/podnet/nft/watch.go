package nft

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Watch tells of tables whose names begin with prefix, until the context ends: the channel has a value after each
// transaction that took one away without laying it down again, and after news of transactions were lost. It watches from
// its return on.
func Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return nil, fmt.Errorf("watch nftables: %w", err)
	}
	if err := conn.JoinGroup(unix.NFNLGRP_NFTABLES); err != nil {
		return nil, errors.Join(fmt.Errorf("watch nftables: %w", err), conn.Close())
	}
	gone := make(chan struct{}, 1)
	context.AfterFunc(ctx, func() { _ = conn.Close() }) // it ends Receive
	go func() {
		of := transaction{prefix: prefix}
		for ctx.Err() == nil {
			messages, err := conn.Receive()
			if err != nil && !errors.Is(err, unix.ENOBUFS) {
				return
			}
			if err == nil && !of.takesAway(messages) {
				continue
			}
			select {
			case gone <- struct{}{}:
			default: // one is waiting
			}
		}
	}()
	return gone, nil
}

// transaction follows the news of one change of tables, which may come in parts.
type transaction struct {
	prefix string
	tables map[string]int // by how many each has become more; one that is made and removed is neither
}

// takesAway reports whether one of the tables is gone after a transaction that has come to its end.
func (t *transaction) takesAway(messages []netlink.Message) (any bool) {
	for _, m := range messages {
		if kind := uint16(m.Header.Type); kind>>8 == unix.NFNL_SUBSYS_NFTABLES {
			any = t.take(kind&0xff, m.Data) || any
		}
	}
	return any
}

func (t *transaction) take(kind uint16, data []byte) (takesAway bool) {
	switch kind {
	case unix.NFT_MSG_NEWTABLE, unix.NFT_MSG_DELTABLE:
		name, family := tableIn(data)
		if !strings.HasPrefix(name, t.prefix) {
			return false
		}
		if t.tables == nil {
			t.tables = map[string]int{}
		}
		if table := fmt.Sprint(family, name); kind == unix.NFT_MSG_DELTABLE {
			t.tables[table]--
		} else {
			t.tables[table]++
		}
	case unix.NFT_MSG_NEWGEN: // the last of a transaction
		for _, more := range t.tables {
			takesAway = takesAway || more < 0
		}
		t.tables = nil
	}
	return takesAway
}

// tableIn returns the table that a message is about.
func tableIn(data []byte) (name string, family byte) {
	const head = 4 // family, version and a resource
	if len(data) < head {
		return "", 0
	}
	attributes, err := netlink.NewAttributeDecoder(data[head:])
	if err != nil {
		return "", 0
	}
	for attributes.Next() {
		if attributes.Type() == unix.NFTA_TABLE_NAME {
			return attributes.String(), data[0]
		}
	}
	return "", 0
}
