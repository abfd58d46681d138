package agent

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"nodal/agent/config"
)

func TestAddressesThatAreNotConfiguredAreRecorded(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	dirs := config.Dirs{Root: t.TempDir()}
	cfg := &config.Config{Dirs: dirs, Node: config.Node{Name: "localhost"}}
	chosen, err := addresses(t.Context(), cfg, log)
	if err != nil || len(chosen) == 0 {
		t.Fatalf("got %q, %v", chosen, err)
	}
	if kept := texts(readAddresses(dirs.Addresses(), log)); !slices.Equal(kept, chosen) {
		t.Errorf("recorded are %q, want %q", kept, chosen)
	}
	cfg.Node.IPs = []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("fd00::1")}
	if got, err := addresses(t.Context(), cfg, log); err != nil || !slices.Equal(got, []string{"192.0.2.7", "fd00::1"}) {
		t.Errorf("configured: got %q, %v", got, err)
	}
	if kept := texts(readAddresses(dirs.Addresses(), log)); !slices.Equal(kept, chosen) {
		t.Errorf("after a start with another one that is configured, recorded are %q, want %q", kept, chosen)
	}
}

func TestABrokenRecordOfAddressesIsNone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "node-addresses")
	if err := os.WriteFile(file, []byte("192.0.2.7\n192.0.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := readAddresses(file, slog.New(slog.DiscardHandler)); got != nil {
		t.Errorf("got %v, want none", got)
	}
}
