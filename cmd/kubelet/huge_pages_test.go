package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestHugePagesOfTheMachine(t *testing.T) {
	dir := t.TempDir()
	for name, number := range map[string]string{"hugepages-1048576kB": "1\n", "hugepages-2048kB": "8\n", "hugepages-64kB": "0\n", "hugepages-xkB": "3\n"} {
		pool := filepath.Join(dir, name)
		if err := os.Mkdir(pool, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(pool, "nr_hugepages"), []byte(number), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := ""
	for _, pages := range lookAtHugePages(dir) {
		name, amount := pages.Resource()
		got += fmt.Sprintf("%s %s %s\n", inKernel(pages), name, amount.String())
	}
	const want = "64KB hugepages-64Ki 0\n2MB hugepages-2Mi 16Mi\n1GB hugepages-1Gi 1Gi\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := lookAtHugePages(filepath.Join(dir, "none")); got != nil {
		t.Errorf("a kernel without them has %v", got)
	}
}
