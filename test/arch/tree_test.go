package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const module = "nodal"

// goFile is one parsed file of ours.
type goFile struct {
	dir     string // slash-separated, relative to the module
	name    string
	imports []string
	syntax  *ast.File
	fset    *token.FileSet
}

func (f goFile) path() string { return path.Join(f.dir, f.name) }
func (f goFile) isTest() bool { return strings.HasSuffix(f.name, "_test.go") }
func (f goFile) at(n ast.Node) string {
	return f.path() + ":" + strconv.Itoa(f.fset.Position(n.Pos()).Line)
}

// parse reads every hand-written Go file of a tree.
func parse(t *testing.T, tree fs.FS) []goFile {
	t.Helper()
	fset := token.NewFileSet()
	var files []goFile
	err := eachFile(tree, []string{".go"}, func(name string, source []byte) error {
		syntax, err := parser.ParseFile(fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		f := goFile{dir: path.Dir(name), name: path.Base(name), syntax: syntax, fset: fset}
		for _, spec := range syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, imported)
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		t.Fatalf("parse the tree: %v", err)
	}
	return files
}

// eachFile reads the hand-written files of a tree that have one of the extensions.
func eachFile(tree fs.FS, extensions []string, visit func(name string, source []byte) error) error {
	return fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped(name):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains(extensions, path.Ext(name)) || name == generatedTypes:
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		return visit(name, source)
	})
}

// generatedTypes holds the API's types for the dashboard, made from the protos and not tracked.
const generatedTypes = "web/src/api/gen.ts"

// skipped directories hold generated code, other people's code or data.
func skipped(dir string) bool {
	base := path.Base(dir)
	hidden := strings.HasPrefix(base, ".") && base != "."
	return hidden || dir == "api/gen" || dir == "bin" || dir == "web/dist/app" || base == "node_modules" || base == "testdata"
}

func ours(t *testing.T) []goFile {
	t.Helper()
	files := parse(t, os.DirFS("../.."))
	if len(files) < 10 {
		t.Fatalf("found %d Go files: the tests do not look at the module", len(files))
	}
	return files
}

// tree returns a made-up tree of one file.
func tree(name, source string) fs.FS {
	return fstest.MapFS{name: &fstest.MapFile{Data: []byte(source)}}
}

// under reports whether dir is top or lies below it.
func under(dir, top string) bool {
	return dir == top || strings.HasPrefix(dir, top+"/")
}

func underAny(dir string, tops []string) bool {
	return slices.ContainsFunc(tops, func(top string) bool { return under(dir, top) })
}
