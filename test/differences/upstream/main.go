package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// packages are the directories whose code sends events of the kubelet, or names the reasons of its refusals.
var packages = []string{
	"pkg/kubelet", "pkg/volume", "pkg/probe", "pkg/scheduler/framework/plugins/tainttoleration",
}

// declared is the file with the reasons of events, and refusals the variable with those of refusals.
const (
	declared = "pkg/kubelet/events/event.go"
	refusals = "admissionRejectionReasons"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("upstream: want a release, such as v1.36.3")
	}
	dir, err := download(os.Args[1])
	if err != nil {
		log.Fatalf("upstream: %v", err)
	}
	r := reader{constants: map[string]string{}, mentioned: map[string]bool{}}
	for _, pkg := range packages {
		if err := r.read(filepath.Join(dir, pkg)); err != nil {
			log.Fatalf("upstream: %v", err)
		}
	}
	reasons, err := r.reasons(filepath.Join(dir, declared))
	if err != nil {
		log.Fatalf("upstream: %v", err)
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Println(reason)
	}
}

func download(version string) (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes@"+version).Output()
	if err != nil {
		return "", fmt.Errorf("download kubernetes %s: %w", version, err)
	}
	var fetched struct{ Dir string }
	if err := json.Unmarshal(out, &fetched); err != nil {
		return "", fmt.Errorf("download kubernetes %s: %w", version, err)
	}
	return fetched.Dir, nil
}

// reader collects what the files say, in one pass.
type reader struct {
	constants map[string]string // by "package.Name"
	mentioned map[string]bool   // names of constants of the package of events
	written   []string          // reasons that are written out where they are sent
	named     []string          // constants that are reasons where they are sent, as "package.Name"
	refusals  []ast.Expr
}

func (r *reader) read(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				r.declaration(file.Name.Name, n)
			case *ast.SelectorExpr:
				if from, ok := n.X.(*ast.Ident); ok && strings.HasSuffix(from.Name, "events") {
					r.mentioned[n.Sel.Name] = true
				}
			case *ast.CallExpr:
				r.call(file.Name.Name, n)
			}
			return true
		})
		return nil
	})
}

func (r *reader) declaration(pkg string, n *ast.ValueSpec) {
	for i, name := range n.Names {
		if i >= len(n.Values) {
			return
		}
		if text, ok := literal(n.Values[i]); ok {
			r.constants[pkg+"."+name.Name] = text
		}
		if call, ok := n.Values[i].(*ast.CallExpr); ok && name.Name == refusals {
			r.refusals = call.Args
		}
	}
}

// call notes the reason of an event, which stands behind the event's type.
func (r *reader) call(pkg string, n *ast.CallExpr) {
	for i, argument := range n.Args[:max(len(n.Args)-1, 0)] {
		kind, ok := argument.(*ast.SelectorExpr)
		if !ok || !strings.HasPrefix(kind.Sel.Name, "EventType") {
			continue
		}
		if text, ok := literal(n.Args[i+1]); ok {
			r.written = append(r.written, text)
		}
		if name, ok := n.Args[i+1].(*ast.Ident); ok {
			r.named = append(r.named, pkg+"."+name.Name)
		}
	}
}

func literal(e ast.Expr) (string, bool) {
	text, ok := e.(*ast.BasicLit)
	if !ok || text.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(text.Value)
	return value, err == nil
}

// reasons returns the reasons that are sent. A text with spaces is none: it is what a refusal says.
func (r *reader) reasons(declared string) (map[string]bool, error) {
	all := map[string]bool{}
	file, err := parser.ParseFile(token.NewFileSet(), declared, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && r.mentioned[spec.Names[0].Name] {
			r.named = append(r.named, file.Name.Name+"."+spec.Names[0].Name)
		}
		return true
	})
	for _, text := range r.written {
		all[text] = true
	}
	for _, name := range r.named {
		if text, ok := r.constants[name]; ok {
			all[text] = true
		}
	}
	for _, e := range r.refusals {
		name := e.(*ast.SelectorExpr)
		text, ok := r.constants[name.X.(*ast.Ident).Name+"."+name.Sel.Name]
		if !ok {
			return nil, fmt.Errorf("the reason %s.%s is no constant", name.X, name.Sel)
		}
		all[text] = true
	}
	maps.DeleteFunc(all, func(text string, _ bool) bool { return strings.Contains(text, " ") })
	return all, nil
}
