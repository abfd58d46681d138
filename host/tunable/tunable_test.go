package tunable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kernel is a tree of settings as a node wants them, but for some.
func kernel(t *testing.T, but map[string]string) string {
	t.Helper()
	values := map[string]string{
		"kernel/keys/root_maxbytes": "25000000\n", "kernel/keys/root_maxkeys": "1000000\n",
		"kernel/panic": "10\n", "kernel/panic_on_oops": "1\n", "vm/overcommit_memory": "1\n", "vm/panic_on_oom": "0\n",
	}
	root := t.TempDir()
	for name, value := range values {
		if other, ok := but[name]; ok {
			value = other
		}
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(value), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestDifferingSettingsAreFound(t *testing.T) {
	tests := []struct {
		name string
		but  map[string]string
		want []string
	}{
		{name: "nothing", want: nil},
		{name: "a kernel that hangs when it is broken", but: map[string]string{"kernel/panic": "0\n"}, want: []string{"kernel.panic is 0, want 10"}},
		{name: "one that waits longer", but: map[string]string{"kernel/panic": "60\n"}, want: []string{"kernel.panic is 60, want 10"}},
		{name: "one that starts anew at once", but: map[string]string{"kernel/panic": "-1\n"}, want: []string{"kernel.panic is -1, want 10"}},
		{name: "less room for keys", but: map[string]string{"kernel/keys/root_maxkeys": "200\n"}, want: []string{"kernel.keys.root_maxkeys is 200, want 1000000"}},
		{name: "more room for keys does no harm", but: map[string]string{"kernel/keys/root_maxkeys": "2000000\n"}},
		{
			name: "two of them", but: map[string]string{"vm/panic_on_oom": "2\n", "vm/overcommit_memory": "0\n"},
			want: []string{"vm.overcommit_memory is 0, want 1", "vm.panic_on_oom is 2, want 0"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found, err := Differ(kernel(t, tt.but))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range found {
				got = append(got, s.String())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAChangedSettingDiffersNoMore(t *testing.T) {
	root := kernel(t, map[string]string{"kernel/panic": "0\n", "vm/overcommit_memory": "2\n"})
	found, err := Differ(root)
	if err != nil || len(found) != 2 {
		t.Fatalf("got %v and %v, want two that differ", found, err)
	}
	for _, s := range found {
		if err := Change(root, s); err != nil {
			t.Error(err)
		}
	}
	if found, err := Differ(root); err != nil || len(found) != 0 {
		t.Errorf("got %v and %v, want none", found, err)
	}
}

func TestASettingThatTheKernelLacksIsNamed(t *testing.T) {
	root := kernel(t, map[string]string{"vm/panic_on_oom": "1\n", "kernel/panic_on_oops": "yes\n"})
	if err := os.RemoveAll(filepath.Join(root, "kernel/keys")); err != nil {
		t.Fatal(err)
	}
	found, err := Differ(root)
	if len(found) != 1 || found[0].Name != "vm.panic_on_oom" {
		t.Errorf("got %v, want the one that can be read", found)
	}
	for _, want := range []string{"kernel.keys.root_maxkeys", "kernel.keys.root_maxbytes", "kernel.panic_on_oops"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to name %s", err, want)
		}
	}
	if err := Change(root, Setting{Name: "kernel.keys.root_maxkeys", Want: 1}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that there is no such setting", err)
	}
	if _, err := os.Stat(filepath.Join(root, "kernel/keys")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that nothing was made", err)
	}
}
