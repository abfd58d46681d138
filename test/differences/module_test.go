package differences

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program is the kubelet's own code with its types, in one universe.
type program struct {
	fset  *token.FileSet
	info  types.Info
	files []*ast.File

	listed map[string]listed
	known  map[string]*types.Package
	others types.Importer // of other modules, from what the build has compiled
}

// listed is one package as go list describes it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Module                  *struct{ Main bool }
	ImportMap               map[string]string
}

// load reads the packages that make the kubelet.
func load(t *testing.T) *program {
	t.Helper()
	p := &program{fset: token.NewFileSet(), listed: list(t, "../../cmd/kubelet"), known: map[string]*types.Package{}}
	p.info = types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	p.others = importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(p.listed[path].Export)
	})
	for _, path := range slices.Sorted(maps.Keys(p.listed)) {
		if p.listed[path].Module != nil && p.listed[path].Module.Main {
			if _, err := p.Import(path); err != nil {
				t.Fatalf("read package %s: %v", path, err)
			}
		}
	}
	return p
}

// list returns a package and all that it needs, compiled.
func list(t *testing.T, dir string) map[string]listed {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Module,ImportMap", ".")
	command.Dir, command.Stderr = dir, os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("list the kubelet's packages: %v", err)
	}
	all := map[string]listed{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var one listed
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("list the kubelet's packages: %v", err)
		}
		all[one.ImportPath] = one
	}
}

// Import implements types.Importer: our packages come from their source, so that each object exists once.
func (p *program) Import(path string) (*types.Package, error) {
	if known := p.known[path]; known != nil {
		return known, nil
	}
	of, ok := p.listed[path]
	switch {
	case path == "unsafe":
		return types.Unsafe, nil
	case !ok:
		return nil, fmt.Errorf("package %s: go list does not have it", path)
	case of.Module == nil || !of.Module.Main:
		return p.others.Import(path)
	}
	var files []*ast.File
	for _, name := range of.GoFiles {
		file, err := parser.ParseFile(p.fset, filepath.Join(of.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	config := types.Config{Importer: mapped{p, of.ImportMap}}
	made, err := config.Check(path, p.fset, files, &p.info)
	if err != nil {
		return nil, err
	}
	p.known[path], p.files = made, append(p.files, files...)
	return made, nil
}

// mapped imports for one package of the standard library or ours, some of whose imports are vendored.
type mapped struct {
	*program
	paths map[string]string
}

func (m mapped) Import(path string) (*types.Package, error) {
	if actual, ok := m.paths[path]; ok {
		path = actual
	}
	return m.program.Import(path)
}
