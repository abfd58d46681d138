package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"nodal/node/manifest/rules"
)

// maxExpansion bounds how many bytes a document may grow to when its aliases are
// written out. A few nested aliases otherwise turn a kilobyte into gigabytes.
const maxExpansion = 4 << 20

// toJSON turns one document into a JSON value.
func (b *bundle) toJSON(at place, d document) ([]byte, bool) {
	text := d.text
	if json.Valid(text) {
		return text, true
	}
	// The library is the one that kubectl uses: what 0644 or "yes" mean must not depend on
	// the way in.
	if rule := b.inspect(d); rule != "" {
		b.add(at, "", rule)
		return nil, false
	}
	object, err := yaml.YAMLToJSONStrict(text)
	if err == nil {
		return object, true
	}
	keys := walkKeys(text)
	var head header
	if lenient, err := yaml.YAMLToJSON(text); err == nil && json.Unmarshal(lenient, &head) == nil {
		// A mapping's own key has to win over a merged one. If it comes first, the
		// converter lets it lose.
		if len(keys.twice) == 0 && keys.merged && !keys.late {
			return lenient, true
		}
		at.name(textOf(head.Kind), head.Metadata)
	}
	for _, path := range keys.twice {
		b.add(at, path, "duplicate key: must not be given twice")
	}
	if len(keys.twice) == 0 {
		b.add(at, "", b.badSyntax(text, d.line, err)+LineHint(text))
	}
	return nil, false
}

// LineHint names the likely cause for YAML without line ends: the commonest way to send a file
// takes them away.
func LineHint(text []byte) string {
	if len(text) == 0 || bytes.ContainsAny(text, "\r\n") || startsInFlow(text) {
		return ""
	}
	return "; it is a single line: curl keeps the lines of a file with --data-binary, not with -d"
}

// tidy makes the YAML library's error one line without its prefix.
func tidy(err error) string {
	s := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	return strings.Join(strings.Fields(strings.TrimPrefix(s, "yaml: ")), " ")
}

// inspect refuses what the converter would take silently: aliases that explode, and a second value
// after the first, which it would drop.
func (b *bundle) inspect(d document) string {
	text := d.text
	aliases := bytes.IndexByte(text, '&') >= 0 && bytes.IndexByte(text, '*') >= 0
	if !aliases && !startsInFlow(text) {
		return ""
	}
	decoder := yaml3.NewDecoder(bytes.NewReader(text))
	var root, second yaml3.Node
	if err := decoder.Decode(&root); err != nil {
		return b.badSyntax(text, d.line, err)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return "must hold one document; separate documents with a line of ---"
	}
	e := expansion{sizes: map[*yaml3.Node]int{}}
	if e.size(&root) > maxExpansion {
		return fmt.Sprintf("must not grow beyond %d bytes when its aliases are expanded", maxExpansion)
	}
	return ""
}

// startsInFlow reports whether the document opens with something other than a
// plain key: only then can a second value follow on a line of its own.
func startsInFlow(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			return bytes.IndexByte([]byte("{[!&\"'"), line[0]) >= 0
		}
	}
	return false
}

// expansion measures nodes with their aliases written out, each node once.
type expansion struct{ sizes map[*yaml3.Node]int }

func (e *expansion) size(n *yaml3.Node) int {
	if known, ok := e.sizes[n]; ok {
		return known
	}
	e.sizes[n] = maxExpansion + 1 // what a node that contains itself adds up to
	total := len(n.Value) + 1
	if n.Kind == yaml3.AliasNode && n.Alias != nil {
		total = e.size(n.Alias)
	}
	for _, child := range n.Content {
		total = min(total+e.size(child), maxExpansion+1)
	}
	e.sizes[n] = total
	return total
}

// keys holds the keys that the converter may refuse.
type keys struct {
	twice  []string // paths of those that stand twice in one mapping
	merged bool     // a mapping takes in another's by <<
	late   bool     // and has some of its own before that
}

// walkKeys finds the paths of duplicate keys. The converter names only their lines, and takes a
// mapping's own key for a duplicate of a merged one.
func walkKeys(text []byte) keys {
	var root yaml3.Node
	var k keys
	if yaml3.Unmarshal(text, &root) == nil {
		k.walk(&root, "")
	}
	return k
}

func (k *keys) walk(n *yaml3.Node, path string) {
	switch n.Kind {
	case yaml3.DocumentNode:
		for _, child := range n.Content {
			k.walk(child, path)
		}
	case yaml3.SequenceNode:
		for i, child := range n.Content {
			k.walk(child, fmt.Sprintf("%s[%d]", path, i))
		}
	case yaml3.MappingNode:
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			at := join(path, key)
			if seen[key] {
				k.twice = append(k.twice, at)
			}
			seen[key] = true
			if n.Content[i].Tag == "!!merge" {
				k.merged, k.late = true, k.late || i > 0
			}
			k.walk(n.Content[i+1], at)
		}
	}
}

// join appends a key to a field path, in brackets when it is not a plain name.
func join(path, key string) string {
	switch {
	case strings.ContainsAny(key, "./[] ") || key == "":
		return fmt.Sprintf("%s[%s]", path, rules.Clip(key))
	case path == "":
		return rules.Clip(key)
	default:
		return path + "." + rules.Clip(key)
	}
}
