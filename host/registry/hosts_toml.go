package registry

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// checkHosts reads a hosts.toml and returns where its first table begins: other hosts may be
// put there, while the lines above belong to the file as a whole. It refuses what containerd
// would refuse, since that says so only in its own log. It does not see what containerd may
// learn to take later.
func checkHosts(text []byte) (firstTable int, err error) {
	var p unstable.Parser
	p.Reset(text)
	var table []string
	firstTable, seen := len(text), map[string]bool{}
	for p.NextExpression() {
		expression := p.Expression()
		if expression.Kind == unstable.Comment {
			continue
		}
		name, at := keyOf(expression)
		switch expression.Kind {
		case unstable.Table:
			firstTable, table = min(firstTable, lineStart(text, int(at.Offset))), name
			err = once(seen, append(slices.Clone(table), ""))
		case unstable.ArrayTable:
			err = fmt.Errorf("%s is no list", strings.Join(name, "."))
		default:
			key := slices.Concat(table, name)
			err = errors.Join(once(seen, key), check(key, valueOf(expression.Value())))
		}
		if err != nil {
			return 0, atLine(&p, at, err)
		}
	}
	if wrong := (*unstable.ParserError)(nil); errors.As(p.Error(), &wrong) {
		return 0, atLine(&p, p.Range(wrong.Highlight), wrong)
	}
	return firstTable, p.Error()
}

// keyOf returns the key of a table or a value, in its parts, and its place in the text.
func keyOf(expression *unstable.Node) (name []string, at unstable.Range) {
	for key := expression.Key(); key.Next(); {
		if name = append(name, string(key.Node().Data)); len(name) == 1 {
			at = key.Node().Raw
		}
	}
	return name, at
}

// valueOf converts a value of TOML: a string, a bool, a list ([]any) or a table
// (map[string]any). Of any other value it returns only the kind.
func valueOf(n *unstable.Node) any {
	switch n.Kind {
	case unstable.String:
		return string(n.Data)
	case unstable.Bool:
		return string(n.Data) == "true"
	case unstable.Array:
		list := []any{}
		for one := n.Children(); one.Next(); {
			if one.Node().Kind != unstable.Comment {
				list = append(list, valueOf(one.Node()))
			}
		}
		return list
	case unstable.InlineTable:
		table := map[string]any{}
		for one := n.Children(); one.Next(); {
			name, _ := keyOf(one.Node())
			table[strings.Join(name, ".")] = valueOf(one.Node().Value())
		}
		return table
	}
	return n.Kind
}

func once(seen map[string]bool, name []string) error {
	id := strings.Join(name, "\x00")
	if seen[id] {
		return fmt.Errorf("%s is given twice", strings.Trim(strings.Join(name, "."), "."))
	}
	seen[id] = true
	return nil
}

// atLine says where a document is wrong.
func atLine(p *unstable.Parser, at unstable.Range, err error) error {
	start := p.Shape(at).Start
	return fmt.Errorf("line %d, column %d: %w", start.Line, start.Column, err)
}

// check judges one value by its name: of the registry itself, or of a host.
func check(name []string, value any) error {
	if table, ok := value.(map[string]any); ok {
		for key, one := range table {
			if err := check(append(slices.Clone(name), key), one); err != nil {
				return err
			}
		}
		return nil
	}
	switch {
	case name[0] != "host":
		return checkSetting(name, value)
	case len(name) < 3:
		return errors.New("a host has to be a table")
	}
	if err := checkSetting(name[2:], value); err != nil {
		return fmt.Errorf("host %q: %w", name[1], err)
	}
	return nil
}

func checkSetting(name []string, value any) error {
	_, isBool := value.(bool)
	switch plain := len(name) == 1; name[0] {
	case "server":
		if _, ok := value.(string); !ok || !plain {
			return errors.New("server has to be a text")
		}
	case "capabilities":
		return checkCapabilities(value)
	case "skip_verify", "override_path":
		if !isBool || !plain {
			return fmt.Errorf("%s has to be true or false", name[0])
		}
	case "ca":
		if !plain || !isPaths(value, 1) {
			return errors.New("ca has to be a file's path or a list of them")
		}
	case "client":
		if !plain || !isPaths(value, 2) {
			return errors.New("client has to be a file's path, a list of them, or a list of pairs [certificate, key]")
		}
	case "header":
		if len(name) != 2 || !isPaths(value, 1) {
			return fmt.Errorf("header %s has to be a text or a list of them", strings.Join(name[1:], "."))
		}
	}
	return nil
}

func checkCapabilities(value any) error {
	list, ok := value.([]any)
	if !ok {
		return errors.New("capabilities has to be a list")
	}
	for _, one := range list {
		name, ok := one.(string)
		if !ok || !slices.Contains([]string{"pull", "resolve", "push"}, strings.ToLower(name)) {
			return fmt.Errorf("capability %q is none of pull, resolve, push", fmt.Sprint(one))
		}
	}
	return nil
}

// isPaths accepts a text, or lists of texts within each other to a depth.
func isPaths(value any, depth int) bool {
	switch v := value.(type) {
	case string:
		return true
	case []any:
		return depth > 0 && !slices.ContainsFunc(v, func(one any) bool { return !isPaths(one, depth-1) })
	}
	return false
}

func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }
