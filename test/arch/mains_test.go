package arch

import (
	"fmt"
	"path"
	"strings"
	"testing"
)

// mainErrors finds packages in cmd that are not programs: a library there would be hard to import
// and to test. One package of a program's commands may lie beside its main, with its parts below it.
func mainErrors(files []goFile) []string {
	var errs []string
	for _, f := range files {
		if !under(f.dir, "cmd") {
			continue
		}
		switch {
		case path.Dir(f.dir) == "cmd" && f.syntax.Name.Name == "main":
		case strings.Count(f.dir, "/") > 1 && strings.Split(f.dir, "/")[2] == "command":
		default:
			errs = append(errs, fmt.Sprintf("%s is a library in cmd: give it a place where others may import it", f.path()))
		}
	}
	return errs
}

func TestCmdHoldsMainsAlone(t *testing.T) {
	for _, err := range mainErrors(ours(t)) {
		t.Error(err)
	}
}

func TestMainRulesCatch(t *testing.T) {
	for _, c := range []struct {
		name, file, source string
		caught             bool
	}{
		{"a program", "cmd/kubelet/a.go", "package main", false},
		{"the commands of a program", "cmd/kubelet/command/a.go", "package command", false},
		{"a part of the commands of a program", "cmd/kubelet/command/client/a.go", "package client", false},
		{"a library beside the programs", "cmd/config/a.go", "package config", true},
		{"a library below a program", "cmd/kubelet/config/a.go", "package config", true},
		{"a library elsewhere", "agent/config/a.go", "package config", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := mainErrors(parse(t, tree(c.file, c.source)))
			if caught := len(got) > 0; caught != c.caught {
				t.Errorf("caught is %t, want %t: %q", caught, c.caught, got)
			}
		})
	}
}
