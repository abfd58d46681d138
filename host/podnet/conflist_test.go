package podnet

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// testPlaces are those of a node whose files are in a directory of the test.
func testPlaces(t *testing.T) Places {
	t.Helper()
	root := t.TempDir()
	return Places{
		ID: "586662b34db3", Conflist: filepath.Join(root, "net.d/10-nodal.conflist"),
		Addresses: filepath.Join(root, "addresses"), Plugins: []string{filepath.Join(root, "bundles/*/cni")},
		Namespaces: []string{root, "/run/nodal/586662b34db3"},
	}
}

func TestBridgeNameFitsTheKernel(t *testing.T) {
	if got := testPlaces(t).bridge(); len(got) > 15 {
		t.Errorf("%s has %d bytes, want 15 at most", got, len(got))
	}
}

func TestConflistConnectsBothFamilies(t *testing.T) {
	subnets := []netip.Prefix{netip.MustParsePrefix("10.90.1.0/24"), netip.MustParsePrefix("fd01:2::/64")}
	p := testPlaces(t)
	p.Addresses = "/var/lib/kubelet/runtime/addresses"
	wantConflist(t, p, subnets, "testdata/dual.conflist")
	p.Bundled = true
	wantConflist(t, p, subnets, "testdata/bundled.conflist")
}

func wantConflist(t *testing.T, p Places, subnets []netip.Prefix, path string) {
	t.Helper()
	got, err := p.renderConflist(subnets, 1400, byNftables)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || string(got) != string(want) {
		t.Errorf("%s differs (%v; -update rewrites it): got\n%s", path, err, got)
	}
	if kept := readChoice(got); !slices.Equal(kept.subnets, subnets) || kept.ports != byNftables {
		t.Errorf("read back %+v, want %v and ports by %s", kept, subnets, byNftables)
	}
	if kept := readChoice(got[:len(got)/2]); kept.subnets != nil || kept.ports != "" {
		t.Errorf("read %+v from half a file, want nothing", kept)
	}
}
