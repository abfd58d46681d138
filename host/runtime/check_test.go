package runtime

import (
	"os"
	"testing"
)

// An agent that did not start on a full disk could not tidy it.
func TestOnlyAFirstStartNeedsFreeSpace(t *testing.T) {
	l := layout{root: t.TempDir()} // registries may be there already
	if !l.spaceCheck().Required {
		t.Error("a node without a runtime may start on a full disk")
	}
	if err := os.Mkdir(l.content(), 0o700); err != nil {
		t.Fatal(err)
	}
	if l.spaceCheck().Required {
		t.Error("a node that has its runtime needs free space to start")
	}
}
