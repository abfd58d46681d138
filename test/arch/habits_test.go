package arch

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// vague lists package names that say where code was put, not what it does.
var vague = []string{"base", "common", "helper", "helpers", "misc", "shared", "types", "util", "utils"}

func habitErrors(files []goFile) []string {
	var errs []string
	documented := map[string]bool{}
	for _, f := range files {
		documented[f.dir] = documented[f.dir] || f.syntax.Doc.Text() != ""
		if slices.Contains(vague, f.syntax.Name.Name) {
			errs = append(errs, fmt.Sprintf("%s: package %s: name it after what it is about", f.path(), f.syntax.Name.Name))
		}
		for _, d := range f.syntax.Decls {
			errs = append(errs, declErrors(f, d)...)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(documented)) {
		if !documented[dir] {
			errs = append(errs, fmt.Sprintf("%s has no package comment: give a newcomer the tour", dir))
		}
	}
	return errs
}

func declErrors(f goFile, d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.Name == "init" {
			return []string{f.at(d) + ": init runs unasked: build a value and pass it"}
		}
	case *ast.GenDecl:
		var errs []string
		for _, spec := range d.Specs {
			if named, ok := spec.(*ast.TypeSpec); ok && strings.HasSuffix(named.Name.Name, "Manager") {
				errs = append(errs, fmt.Sprintf("%s: %s: say what it owns; everything manages", f.at(spec), named.Name.Name))
			}
		}
		return errs
	}
	return nil
}

func TestPackagesKeepTheHabits(t *testing.T) {
	for _, err := range habitErrors(ours(t)) {
		t.Error(err)
	}
}

func TestHabitRulesCatch(t *testing.T) {
	const documented = "// Package a is a tour.\n"
	for _, c := range []struct{ name, source, want string }{
		{"a package without a comment", "package a", "no package comment"},
		{"a package named after nothing", documented + "package util", "name it after what it is about"},
		{"a manager", documented + "package a\ntype PodManager struct{}", "everything manages"},
		{"an init function", documented + "package a\nfunc init() {}", "runs unasked"},
		{"a method named init", documented + "package a\nfunc (x X) init() {}\ntype X int", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(habitErrors(parse(t, tree("a/a.go", c.source))), "\n")
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
