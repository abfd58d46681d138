package agent

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"strings"

	"nodal/agent/config"
	"nodal/host/machine"
	"nodal/host/replace"
	"nodal/node/address"
)

// addresses returns the addresses of the node. Those that are not configured are recorded, so that the next start keeps
// them.
func addresses(ctx context.Context, cfg *config.Config, log *slog.Logger) ([]string, error) {
	facts := address.Facts{Kept: readAddresses(cfg.Dirs.Addresses(), log)}
	var err error
	if facts.Found, err = machine.Addresses(os.DirFS("/")); err != nil {
		return nil, err
	}
	if address.NeedsName(cfg.Node.IPs, facts) {
		facts.Named = machine.Resolve(ctx, cfg.Node.Name)
	}
	chosen := texts(address.Choose(cfg.Node.IPs, facts))
	if len(cfg.Node.IPs) == 0 {
		keepAddresses(cfg.Dirs.Addresses(), facts.Kept, chosen, log)
	}
	return chosen, nil
}

// readAddresses returns the recorded addresses; none if the record cannot be read.
func readAddresses(file string, log *slog.Logger) (all []netip.Addr) {
	text, err := os.ReadFile(file)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			log.Warn("cannot read the node's addresses of the last start", "err", err)
		}
		return nil
	}
	for word := range strings.FieldsSeq(string(text)) {
		ip, err := netip.ParseAddr(word)
		if err != nil {
			log.Warn("cannot read the node's addresses of the last start", "file", file, "err", err)
			return nil
		}
		all = append(all, ip)
	}
	return all
}

// keepAddresses records the addresses, unless they are recorded already.
func keepAddresses(file string, kept []netip.Addr, chosen []string, log *slog.Logger) {
	was, now := strings.Join(texts(kept), "\n"), strings.Join(chosen, "\n")
	if was == now {
		return
	}
	if was != "" {
		log.Warn("the node has other addresses than at its last start", "before", was, "now", now)
	}
	if err := replace.File(file, []byte(now+"\n"), 0o644); err != nil {
		log.Warn("the next start may choose other addresses of the node", "err", err)
	}
}

func texts(ips []netip.Addr) (all []string) {
	for _, ip := range ips {
		all = append(all, ip.String())
	}
	return all
}
