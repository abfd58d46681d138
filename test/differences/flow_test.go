package differences

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// flow finds the constant texts that may reach a field of a struct: through variables, parameters, fields and results of
// functions. It knows nothing of the order in which a program runs.
type flow struct {
	*program
	writes map[types.Object][]ast.Expr   // what is written to a variable, a parameter or a field, or returned by a function
	likes  map[types.Object]types.Object // parameters of functions that are called by another name, and those of the other
	ends   map[string][]string           // fields that are not followed further, with what they may hold

	seen  map[types.Object]bool
	found map[string]token.Pos
	lost  []string // the places at which the flow cannot be followed
}

// newFlow notes all writes of a program.
func newFlow(p *program, ends map[string][]string) *flow {
	f := &flow{
		program: p, ends: ends, writes: map[types.Object][]ast.Expr{}, likes: map[types.Object]types.Object{},
		seen: map[types.Object]bool{}, found: map[string]token.Pos{},
	}
	for _, file := range p.files {
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if ok {
				f.returns(f.info.Defs[function.Name], function)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool { f.note(n); return true })
	}
	return f
}

func (f *flow) note(n ast.Node) {
	switch n := n.(type) {
	case *ast.CompositeLit:
		f.literal(n)
	case *ast.CallExpr:
		f.call(n)
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			if len(n.Lhs) == len(n.Rhs) {
				f.write(to, n.Rhs[i])
			} else {
				f.write(to, n.Rhs[0])
			}
		}
	case *ast.ValueSpec:
		for i, to := range n.Names {
			if i < len(n.Values) {
				f.write(to, n.Values[i])
			}
		}
	}
}

func (f *flow) write(to, value ast.Expr) {
	if object := f.object(to); object != nil {
		f.add(object, value)
	}
}

// add notes that a value is written to an object. If that is a function, calls of the object are calls of it.
func (f *flow) add(object types.Object, value ast.Expr) {
	f.writes[object] = append(f.writes[object], value)
	function, ok := f.object(value).(*types.Func)
	called, is := object.Type().Underlying().(*types.Signature)
	if ok && is && function.Signature().Params().Len() == called.Params().Len() {
		for i := range called.Params().Len() {
			f.likes[function.Signature().Params().At(i)] = called.Params().At(i)
		}
	}
}

// object returns the variable or field that an expression names, if it does.
func (f *flow) object(e ast.Expr) types.Object {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return f.object(e.X)
	case *ast.Ident:
		if object := f.info.Defs[e]; object != nil {
			return object
		}
		return f.info.Uses[e]
	case *ast.SelectorExpr:
		return f.info.Uses[e.Sel]
	}
	return nil
}

func (f *flow) literal(n *ast.CompositeLit) {
	of, ok := f.info.Types[n].Type.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, element := range n.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			f.write(pair.Key, pair.Value)
		} else {
			f.add(of.Field(i), element)
		}
	}
}

func (f *flow) call(n *ast.CallExpr) {
	signature, ok := f.info.Types[n.Fun].Type.(*types.Signature)
	if !ok {
		return
	}
	if function, ok := f.object(n.Fun).(*types.Func); ok { // whose parameters are those of its declaration
		signature = function.Signature()
	}
	for i, argument := range n.Args {
		if i < signature.Params().Len() {
			f.add(signature.Params().At(i), argument)
		}
	}
}

// returns notes what a function returns, but not what the functions in it do.
func (f *flow) returns(of types.Object, function *ast.FuncDecl) {
	ast.Inspect(function, func(n ast.Node) bool {
		if back, ok := n.(*ast.ReturnStmt); ok {
			f.writes[of] = append(f.writes[of], back.Results...)
		}
		_, inner := n.(*ast.FuncLit)
		return !inner
	})
}

// into follows what reaches a field or a variable.
func (f *flow) into(object types.Object) {
	if f.seen[object] {
		return
	}
	f.seen[object] = true
	for _, value := range f.writes[object] {
		f.value(value)
	}
	if like := f.likes[object]; like != nil {
		f.into(like)
	}
}

// value follows one expression.
func (f *flow) value(e ast.Expr) {
	of := f.info.Types[e]
	if of.Value != nil {
		if text := f.text(e); text != "" {
			f.found[text] = e.Pos()
		}
		return
	}
	if basic, ok := of.Type.Underlying().(*types.Basic); ok && basic.Info()&types.IsString == 0 {
		return // one of several results
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		f.value(e.X)
	case *ast.Ident, *ast.SelectorExpr:
		f.named(e)
	case *ast.CallExpr:
		f.called(e)
	case *ast.BinaryExpr:
		if begin := f.text(e.X); begin != "" {
			f.found[begin+"*"] = e.Pos()
		} else {
			f.lose(e)
		}
	case *ast.IndexExpr:
		f.value(e.X)
	case *ast.CompositeLit: // of a map or an array, one of whose values is chosen
		for _, element := range e.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				element = pair.Value
			}
			f.value(element)
		}
	default:
		f.lose(e)
	}
}

// text returns the text of a constant, and none for all else.
func (f *flow) text(e ast.Expr) string {
	if of := f.info.Types[e].Value; of != nil && of.Kind() == constant.String {
		return constant.StringVal(of)
	}
	return ""
}

func (f *flow) called(e *ast.CallExpr) {
	if f.info.Types[e.Fun].IsType() { // a conversion
		f.value(e.Args[0])
		return
	}
	object := f.object(e.Fun)
	if function, ok := object.(*types.Func); ok && f.writes[function] != nil {
		f.into(function)
		return
	}
	f.lose(e)
}

func (f *flow) named(e ast.Expr) {
	object := f.object(e)
	if field, ok := e.(*ast.SelectorExpr); ok {
		if selection := f.info.Selections[field]; selection != nil {
			name := types.TypeString(selection.Recv(), nil)
			if end, ok := f.ends[strings.TrimPrefix(name, "*")+"."+field.Sel.Name]; ok {
				for _, text := range end {
					f.found[text] = e.Pos()
				}
				return
			}
		}
	}
	if object == nil || f.writes[object] == nil && f.likes[object] == nil {
		f.lose(e)
		return
	}
	f.into(object)
}

func (f *flow) lose(e ast.Expr) {
	at := f.fset.Position(e.Pos())
	line := fmt.Sprintf("%s:%d: %s", at.Filename, at.Line, types.ExprString(e))
	if !slices.Contains(f.lost, line) {
		f.lost = append(f.lost, line)
	}
}
