package claim

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Read returns the claims of all tests in a tree, by area and then by file.
func Read(tree fs.FS) ([]Row, error) {
	var rows []Row
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && name != ".") {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		inFile, err := readFile(name, source)
		rows = append(rows, inFile...)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := check(rows); err != nil {
		return nil, err
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return slices.Index(Areas(), a.Area) - slices.Index(Areas(), b.Area) })
	return rows, nil
}

func check(rows []Row) error {
	var errs []error
	seen := map[string]Row{}
	for _, r := range rows {
		if !slices.Contains(Areas(), r.Area) {
			errs = append(errs, fmt.Errorf("%s in %s: there is no area %q", r.Test, r.File, r.Area))
		}
		if other, twice := seen[r.String()]; twice {
			errs = append(errs, fmt.Errorf("%s and %s both show %q", other.Test, r.Test, r))
		}
		seen[r.String()] = r
	}
	return errors.Join(errs...)
}

func readFile(name string, source []byte) ([]Row, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var rows []Row
	var errs []error
	for _, decl := range file.Decls {
		test, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		for call := range calls(test) {
			texts, err := literals(call.Args[1:])
			if err == nil && !strings.HasPrefix(test.Name.Name, "Test") {
				err = fmt.Errorf("%s is no test", test.Name.Name)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", fset.Position(call.Pos()), err))
				continue
			}
			for _, behaviour := range texts[1:] {
				rows = append(rows, Row{Area: texts[0], Behaviour: behaviour, Test: test.Name.Name, File: path.Clean(name)})
			}
		}
	}
	return rows, errors.Join(errs...)
}

// calls yields the calls of Shows in a function.
func calls(test *ast.FuncDecl) func(yield func(*ast.CallExpr) bool) {
	return func(yield func(*ast.CallExpr) bool) {
		for n := range ast.Preorder(test) {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				continue
			}
			shows, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || shows.Sel.Name != "Shows" {
				continue
			}
			if from, ok := shows.X.(*ast.Ident); ok && from.Name == "claim" && !yield(call) {
				return
			}
		}
	}
}

func literals(args []ast.Expr) ([]string, error) {
	texts := make([]string, len(args))
	for i, arg := range args {
		literal, ok := arg.(*ast.BasicLit)
		if !ok {
			return nil, errors.New("what a test shows has to be written out")
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			return nil, err
		}
		texts[i] = text
	}
	return texts, nil
}
