package spec

import (
	"fmt"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Variables are a container's environment in the order of its spec. A later value of a name replaces an earlier one.
type Variables struct {
	names  []string
	values map[string]string
}

func (v *Variables) set(name, value string) {
	if _, ok := v.values[name]; !ok {
		v.names = append(v.names, name)
	}
	v.values[name] = value
}

// over lists the variables behind others. It leaves out the others that it replaces.
func (v *Variables) over(others []*runtimeapi.KeyValue) []*runtimeapi.KeyValue {
	list := make([]*runtimeapi.KeyValue, 0, len(others)+len(v.names))
	for _, other := range others {
		if _, ok := v.values[other.GetKey()]; !ok {
			list = append(list, other)
		}
	}
	for _, name := range v.names {
		list = append(list, &runtimeapi.KeyValue{Key: name, Value: []byte(v.values[name])})
	}
	return list
}

func (v *Variables) expandAll(texts []string) []string {
	if len(texts) == 0 {
		return nil
	}
	expanded := make([]string, len(texts))
	for i, text := range texts {
		expanded[i] = v.expand(text)
	}
	return expanded
}

// expand replaces each $(NAME) by the variable's value. $$ stands for one dollar sign, and a name without a variable
// stays as it is.
func (v *Variables) expand(text string) string {
	expanded, _ := v.expandNoting(text)
	return expanded
}

// expandKnown expands a text in which every name must have a variable.
func (v *Variables) expandKnown(text string) (string, error) {
	expanded, unknown := v.expandNoting(text)
	if len(unknown) > 0 {
		return "", fmt.Errorf("there is no variable %s", strings.Join(unknown, ", "))
	}
	return expanded, nil
}

func (v *Variables) expandNoting(text string) (expanded string, unknown []string) {
	if !strings.Contains(text, "$") {
		return text, nil
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String(), unknown
		}
		written, rest, name := v.expandOne(after)
		if name != "" {
			unknown = append(unknown, name)
		}
		b.WriteString(written)
		text = rest
	}
}

// expandOne reads what follows a dollar sign. It returns what to write, the rest, and the name if no variable has it.
func (v *Variables) expandOne(after string) (written, rest, unknown string) {
	if rest, ok := strings.CutPrefix(after, "$"); ok {
		return "$", rest, ""
	}
	if inner, ok := strings.CutPrefix(after, "("); ok {
		if name, rest, closed := strings.Cut(inner, ")"); closed {
			if value, known := v.values[name]; known {
				return value, rest, ""
			}
			return "$(" + name + ")", rest, name
		}
	}
	return "$", after, ""
}
