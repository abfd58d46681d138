package agent

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodal/agent/config"
)

func TestTheKernelIsSetCheckedOrLeft(t *testing.T) {
	tests := []struct {
		name   string
		mode   config.Tunables
		is     string
		want   string
		refuse string
	}{
		{name: "a node of a cluster sets it", mode: config.TunablesSet, is: "0", want: "10"},
		{name: "a node that stands alone leaves it", mode: config.TunablesLeave, is: "0", want: "0"},
		{name: "a protected one refuses to start", mode: config.TunablesCheck, is: "0", want: "0", refuse: "kernel.panic is 0, want 10"},
		{name: "a protected one starts where it is right", mode: config.TunablesCheck, is: "10", want: "10"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for name, value := range map[string]string{
				"kernel/keys/root_maxbytes": "25000000", "kernel/keys/root_maxkeys": "1000000", "kernel/panic": tt.is,
				"kernel/panic_on_oops": "1", "vm/overcommit_memory": "1", "vm/panic_on_oom": "0",
			} {
				path := filepath.Join(root, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(value), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			err := tune(root, tt.mode, slog.New(slog.DiscardHandler))
			if (err != nil) != (tt.refuse != "") || err != nil && !strings.Contains(err.Error(), tt.refuse) {
				t.Errorf("got %v, want %q", err, tt.refuse)
			}
			if got, _ := os.ReadFile(filepath.Join(root, "kernel/panic")); string(got) != tt.want {
				t.Errorf("kernel.panic is %q, want %q", got, tt.want)
			}
		})
	}
}
