package surplus

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// AddTo adds the surplus to a value that was encoded again.
func (over *Tree) AddTo(data []byte) ([]byte, error) {
	if over == nil {
		return data, nil
	}
	var value any
	if err := unmarshal(data, &value); err != nil {
		return nil, fmt.Errorf("add what this agent does not know: %w", err)
	}
	over.addTo(value)
	return json.Marshal(value)
}

func (over *Tree) addTo(value any) {
	if over == nil || over.mark != markOf(value) {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for name, content := range over.fields {
			if _, taken := v[name]; !taken {
				v[name] = content
			}
		}
		for name, below := range over.below {
			below.addTo(v[name])
		}
	case []any:
		for index, below := range over.below {
			below.addTo(below.elementOf(v, index))
		}
	}
}

// elementOf finds the element of a list that the surplus was said of. One without a mark
// is known by its place alone.
func (over *Tree) elementOf(list []any, index string) any {
	if over.mark != "" {
		for _, element := range list {
			if markOf(element) == over.mark {
				return element
			}
		}
		return nil
	}
	if i, err := strconv.Atoi(index); err == nil && i < len(list) {
		return list[i]
	}
	return nil
}

// With returns the surplus with that of a field beside it.
func (over *Tree) With(name string, below *Tree) *Tree {
	switch {
	case below == nil:
		return over
	case over == nil:
		return &Tree{below: map[string]*Tree{name: below}}
	}
	added := *over
	added.below = map[string]*Tree{name: below}
	for other, tree := range over.below {
		if other != name {
			added.below[other] = tree
		}
	}
	return &added
}
