package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// A spec is what a release says of one gate.
type spec struct {
	stage    string
	on       bool   // by default
	fixed    bool   // it cannot be set to anything but its default
	constant string // by which the code calls it
}

// specsOf returns the gates that a source file declares, as they are in the release with that minor version. Later
// entries of a gate hold from the version that stands in them.
func specsOf(name string, src any, minor int) (map[string]spec, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", name, err)
	}
	names := gateNames(file)
	found := map[string]spec{}
	ast.Inspect(file, func(n ast.Node) bool {
		entry, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		list, ok := entry.Value.(*ast.CompositeLit)
		if !ok {
			return true
		}
		constant := lastName(entry.Key)
		if s, ok := latest(list, minor); ok {
			s.constant = constant
			found[cmp.Or(names[constant], constant)] = s
		}
		return false
	})
	return found, nil
}

// gateNames returns the values of a file's constants by their names: most gates are called like their constant.
func gateNames(file *ast.File) map[string]string {
	names := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		declared, ok := n.(*ast.ValueSpec)
		if !ok || len(declared.Values) != 1 {
			return true
		}
		if text, ok := declared.Values[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
			if value, err := strconv.Unquote(text.Value); err == nil {
				names[declared.Names[0].Name] = value
			}
		}
		return true
	})
	return names
}

// latest returns the last entry of a gate that holds in a release. It reports false for lists of anything else.
func latest(list *ast.CompositeLit, minor int) (s spec, found bool) {
	newest := -1
	for _, element := range list.Elts {
		entry, ok := element.(*ast.CompositeLit)
		if !ok {
			return s, false
		}
		since, one, ok := specOf(entry)
		if !ok {
			return s, false
		}
		if since <= minor && since >= newest {
			newest, s, found = since, one, true
		}
	}
	return s, found
}

// specOf reads {Version: version.MustParse("1.37"), Default: true, PreRelease: featuregate.Beta}.
func specOf(entry *ast.CompositeLit) (since int, s spec, ok bool) {
	for _, element := range entry.Elts {
		pair, isPair := element.(*ast.KeyValueExpr)
		if !isPair {
			return 0, s, false
		}
		switch lastName(pair.Key) {
		case "Version":
			since, ok = minorOf(pair.Value)
		case "Default":
			s.on = lastName(pair.Value) == "true"
		case "LockToDefault":
			s.fixed = lastName(pair.Value) == "true"
		case "PreRelease":
			s.stage = strings.ToLower(lastName(pair.Value))
		}
	}
	return since, s, ok
}

// minorOf reads the 37 of version.MustParse("1.37").
func minorOf(e ast.Expr) (int, bool) {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return 0, false
	}
	text, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return 0, false
	}
	minor, err := strconv.Atoi(strings.TrimPrefix(strings.Trim(text.Value, `"`), "1."))
	return minor, err == nil
}

// lastName returns the last word of a name: MemoryQoS of features.MemoryQoS.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
