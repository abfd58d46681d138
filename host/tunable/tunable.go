package tunable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Proc is the directory of the kernel's settings.
const Proc = "/proc/sys"

// Setting is one of the kernel's settings whose value differs from a node's needs.
type Setting struct {
	Name string // "kernel.panic"
	Is   int
	Want int
}

func (s Setting) String() string { return fmt.Sprintf("%s is %d, want %d", s.Name, s.Is, s.Want) }

// wanted lists the settings that a node needs, as upstream does.
func wanted() []wish {
	return []wish{
		{name: "kernel.keys.root_maxbytes", want: 25_000_000, orMore: true},
		{name: "kernel.keys.root_maxkeys", want: 1_000_000, orMore: true},
		{name: "kernel.panic", want: 10}, // seconds until it reboots
		{name: "kernel.panic_on_oops", want: 1},
		{name: "vm.overcommit_memory", want: 1},
		{name: "vm.panic_on_oom", want: 0},
	}
}

type wish struct {
	name   string
	want   int
	orMore bool // room: more of it does no harm
}

// Differ lists the settings below root that differ from a node's needs, by name. An unreadable
// one is an error beside the list.
func Differ(root string) ([]Setting, error) {
	var found []Setting
	var errs []error
	for _, w := range wanted() {
		is, err := read(root, w.name)
		switch {
		case err != nil:
			errs = append(errs, err)
		case is != w.want && !(w.orMore && is > w.want):
			found = append(found, Setting{Name: w.name, Is: is, Want: w.want})
		}
	}
	return found, errors.Join(errs...)
}

func read(root, name string) (int, error) {
	text, err := os.ReadFile(file(root, name))
	if err != nil {
		return 0, fmt.Errorf("read the kernel's %s: %w", name, err)
	}
	value, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("read the kernel's %s: %w", name, err)
	}
	return value, nil
}

// Change writes the wanted value of a setting.
func Change(root string, s Setting) error {
	// Do not create the file: without it the kernel has no such setting.
	f, err := os.OpenFile(file(root, s.Name), os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(strconv.Itoa(s.Want))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("set the kernel's %s, which is %d, to %d: %w", s.Name, s.Is, s.Want, err)
	}
	return nil
}

func file(root, name string) string {
	return filepath.Join(root, filepath.FromSlash(strings.ReplaceAll(name, ".", "/")))
}
