package source

import (
	"fmt"
	"path/filepath"
	"testing"

	"nodal/node"
)

// directoryOf100 is a source that has delivered a hundred files.
func directoryOf100(b *testing.B) (dir string, look func(polled bool)) {
	dir = b.TempDir()
	for i := range 100 {
		path := filepath.Join(dir, fmt.Sprintf("pod%d.yaml", i))
		write(b, path, podYAML(fmt.Sprintf("pod%d", i), "a:1"))
		age(b, path)
	}
	file := NewFile(FileConfig{Path: dir, Sink: newRig(b, node.SourceFile).Sink})
	watch := openWatch()
	b.Cleanup(watch.close)
	look = func(polled bool) { file.turn(watch, polled) }
	look(true)
	return dir, look
}

// What an edited manifest waits for among a hundred others.
func BenchmarkEditOneOf100(b *testing.B) {
	dir, look := directoryOf100(b)
	path := filepath.Join(dir, "pod0.yaml")
	for i := 0; b.Loop(); i++ {
		write(b, path, podYAML("pod0", fmt.Sprintf("a:%d", i)))
		age(b, path)
		look(false)
	}
}

func BenchmarkIdlePollOf100(b *testing.B) {
	_, look := directoryOf100(b)
	for b.Loop() {
		look(true)
	}
}
