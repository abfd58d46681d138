package manifest_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node/manifest"
)

// The expected UIDs are printed by test/cluster/parts/staticuid, which runs upstream's own code.
func TestStaticPodsHaveTheUIDThatUpstreamDerives(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(read(t, "testdata/static_uids.txt")), "\n")
	if len(lines) < 6 {
		t.Fatalf("got %d UIDs", len(lines))
	}
	for _, line := range lines {
		name, _, _ := strings.Cut(line, " ")
		t.Run(name, func(t *testing.T) {
			text := read(t, filepath.Join("testdata/static", name))
			got := fmt.Sprintf("%s %s %s", name,
				derived(t, text, manifest.Place{Node: "Node-A", Source: manifest.FromFile, Origin: "/etc/pods/" + name}),
				derived(t, text, manifest.Place{Node: "Node-A", Source: manifest.FromURL, Origin: "http://pods.test/" + name}))
			if got != line {
				t.Errorf("got  %s\nwant %s", got, line)
			}
		})
	}
}

// derived returns the UID of a manifest that has none.
func derived(t *testing.T, text string, from manifest.Place) string {
	t.Helper()
	docs, err := manifest.Decode([]byte(text), manifest.Options{})
	if err != nil || len(docs) != 1 {
		t.Fatalf("decode: %d documents, %v", len(docs), err)
	}
	manifest.Static(docs[0], from, time.Time{})
	return string(docs[0].Pod.UID)
}

// Records of earlier versions hold this UID.
func TestStaticPodsAreKnownByTheirEarlierUID(t *testing.T) {
	docs, err := manifest.Decode([]byte(read(t, "testdata/static/plain.yaml")), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	aliases := manifest.Static(docs[0], manifest.Place{Node: "Node-A", Source: manifest.FromFile, Origin: "/etc/pods/plain.yaml"}, time.Time{})
	if want := types.UID("3f33729363c7d3cec3df6e85d1ef1c9d"); !slices.Contains(aliases, want) {
		t.Errorf("got aliases %q, want %q among them", aliases, want)
	}
	docs[0].Pod.UID = "mine"
	if aliases := manifest.Static(docs[0], manifest.Place{Node: "node-a"}, time.Time{}); len(aliases) > 0 {
		t.Errorf("got aliases %q of a pod with a UID of its own", aliases)
	}
}
