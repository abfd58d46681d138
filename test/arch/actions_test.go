package arch

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"testing"
)

// carriesOut reports whether the type switches of a file carry actions out.
func carriesOut(f goFile) bool {
	return f.path() == "reconciler/act.go" || f.path() == "host/cri/pods.go" || declaresAssets(f)
}

// declaresAssets reports whether a file declares a kind of asset, and carries its actions out.
func declaresAssets(f goFile) bool {
	ofAssets, err := path.Match("reconciler/asset_*.go", f.path())
	return ofAssets && err == nil
}

// actionErrors finds actions that no switch carries out. The compiler does not: every one of these
// switches has a default.
func actionErrors(files []goFile) []string {
	var declared []string
	done := map[string]bool{}
	for _, f := range files {
		if f.dir == "node" && !f.isTest() {
			declared = append(declared, withMethod(f, "Target")...)
		}
		if carriesOut(f) {
			for _, name := range casesOf(f, "node") {
				done[name] = true
			}
		}
	}
	var errs []string
	for _, name := range declared {
		if !done[name] {
			errs = append(errs, fmt.Sprintf("node.%s is an action that nothing carries out", name))
		}
	}
	return errs
}

// withMethod returns the types of a file that have a method of a name.
func withMethod(f goFile, name string) (types []string) {
	for _, d := range f.syntax.Decls {
		method, ok := d.(*ast.FuncDecl)
		if !ok || method.Recv == nil || method.Name.Name != name {
			continue
		}
		if receiver, ok := method.Recv.List[0].Type.(*ast.Ident); ok {
			types = append(types, receiver.Name)
		}
	}
	return types
}

// casesOf returns the types of pkg that the type switches of a file name.
func casesOf(f goFile, pkg string) (types []string) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		of, ok := n.(*ast.TypeSwitchStmt)
		if !ok {
			return true
		}
		for _, clause := range of.Body.List {
			for _, one := range clause.(*ast.CaseClause).List {
				if named, ok := one.(*ast.SelectorExpr); ok && named.X.(*ast.Ident).Name == pkg {
					types = append(types, named.Sel.Name)
				}
			}
		}
		return true
	})
	return types
}

// tellApart lists the files, besides those of assets, that switch on the types of actions. All else about an action stands in
// node/about.go and node/action_event.go: a list elsewhere would miss the next action.
var tellApart = map[string]string{
	"reconciler/act.go":               "carries them out",
	"host/cri/pods.go":                "makes a call of each",
	"reconciler/fold.go":              "knows what each leaves behind",
	"sim/runtime.go":                  "has the effect of each in memory",
	"server/metrics/agent_actions.go": "counts those that Kubernetes counts",
}

// switchErrors finds other files that switch on the types of actions.
func switchErrors(files []goFile) (errs []string) {
	var actions []string
	for _, f := range files {
		if f.dir == "node" && !f.isTest() {
			actions = append(actions, withMethod(f, "Target")...)
		}
	}
	for _, f := range files {
		if f.isTest() || declaresAssets(f) || tellApart[f.path()] != "" {
			continue
		}
		for _, name := range casesOf(f, "node") {
			if slices.Contains(actions, name) {
				errs = append(errs, fmt.Sprintf("%s has a case for node.%s: have the action say it, see node.About", f.path(), name))
			}
		}
	}
	return errs
}

func TestEveryActionIsCarriedOut(t *testing.T) {
	for _, err := range actionErrors(ours(t)) {
		t.Error(err)
	}
}

func TestOnlyListedFilesSwitchOnActions(t *testing.T) {
	for _, err := range switchErrors(ours(t)) {
		t.Error(err)
	}
}

func TestAListOfActionsIsFound(t *testing.T) {
	files := append(parse(t, tree("node/action.go", "package node\nfunc (Dance) Target() string { return \"\" }")),
		parse(t, tree("host/dance/dance.go", "package dance\nfunc f(a any) { switch a.(type) { case node.Dance: } }"))...)
	if got := switchErrors(files); len(got) != 1 {
		t.Errorf("got %v, want one error", got)
	}
}

func TestAnActionThatNothingCarriesOutIsFound(t *testing.T) {
	files := parse(t, tree("node/action.go", "package node\ntype Dance struct{}\nfunc (Dance) Target() string { return \"\" }"))
	if got := actionErrors(files); len(got) != 1 {
		t.Errorf("got %v, want one error", got)
	}
}
