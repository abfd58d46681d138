package manifest

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
)

// Finding the line of a fault parses parts of a text again and again. Beyond these bounds
// the library's own line has to do.
const (
	maxSearched = 64 << 10 // bytes, of all documents of a bundle
	maxParses   = 60
	maxOpen     = 20 // lines over which a quote or a bracket may stay open
)

// badSyntax says what is wrong with a text that is no YAML. first is the line of the
// bundle at which the text begins, from 1.
func (b *bundle) badSyntax(text []byte, first int, err error) string {
	line, words := lineOf(tidy(err))
	lines := slices.Collect(bytes.Lines(text))
	found := 0
	if b.searched += len(text); b.searched <= maxSearched {
		found = faultyLine(lines)
	}
	if found > 0 {
		line = found
		if remedy, at := remedyFor(lines, found, words); remedy != "" {
			line, words = at, remedy
		}
	} else if at := slices.IndexFunc(lines, isTemplate); at >= 0 && line == 0 { // sound, but for keys that are mappings
		line, words = at+1, fillIn
	}
	if line > 0 {
		words = fmt.Sprintf("line %d: %s", first+line-1, words)
	}
	return "must be valid YAML or JSON: " + clipRule(words)
}

var lined = regexp.MustCompile(`^line ([0-9]+): (.*)$`)

// lineOf takes the line from the front of the library's words; 0 if it names none.
func lineOf(words string) (line int, rest string) {
	m := lined.FindStringSubmatch(words)
	if m == nil {
		return 0, words
	}
	line, err := strconv.Atoi(m[1])
	if err != nil {
		return 0, words
	}
	return line, m[2]
}

// faultyLine returns the line with which a text stops being YAML, from 1. The library
// names where the surrounding block began, which may be far above. It is 0 if the text is
// sound, or begins with a bracket, which no line before the last closes.
func faultyLine(lines [][]byte) int {
	parses := 0
	sound := func(n int) bool {
		parses++
		return yaml3.Unmarshal(bytes.Join(lines[:n], nil), new(yaml3.Node)) == nil
	}
	if startsInFlow(bytes.Join(lines, nil)) || sound(len(lines)) {
		return 0
	}
	good, bad := 0, len(lines) // the lines before good are sound, those before bad are not
	for parses < maxParses {
		for bad-good > 1 {
			if middle := (good + bad) / 2; sound(middle) {
				good = middle
			} else {
				bad = middle
			}
		}
		closed := 0 // a quote or bracket that is only open yet is closed by then
		for n := bad + 1; n <= min(bad+maxOpen, len(lines)) && closed == 0; n++ {
			if sound(n) {
				closed = n
			}
		}
		if closed == 0 {
			return bad
		}
		good, bad = closed, len(lines)
	}
	return bad
}

const fillIn = "{{ belongs to a template; post what the template makes, such as the output of helm template"

func isTemplate(line []byte) bool { return bytes.Contains(line, []byte("{{")) }

// remedyFor says what to do about a faulty line, and at which line.
func remedyFor(lines [][]byte, faulty int, words string) (string, int) {
	line := string(lines[faulty-1])
	content := strings.TrimLeft(line, " \t")
	indent := line[:len(line)-len(content)]
	above := faulty - 1
	for above > 0 && blank(lines[above-1]) {
		above--
	}
	switch levels := levelsOf(lines[:faulty-1]); {
	case strings.Contains(indent, "\t"):
		return "a tab cannot indent in YAML; use spaces", faulty
	case isTemplate(lines[faulty-1]):
		return fillIn, faulty
	case above > 0 && colonMissesSpace(lines[above-1]) != "":
		return fmt.Sprintf("a colon needs a space behind it; write %s: VALUE", colonMissesSpace(lines[above-1])), above
	case colonMissesSpace(lines[faulty-1]) != "":
		return fmt.Sprintf("a colon needs a space behind it; write %s: VALUE", colonMissesSpace(lines[faulty-1])), faulty
	case len(levels) > 0 && !slices.Contains(levels, len(indent)):
		return fmt.Sprintf("it is indented by %d spaces, and the lines that it belongs to by %s; line it up with one of them",
			len(indent), alternatives(levels)), faulty
	case strings.Contains(words, "end of stream") || strings.Contains(words, "',' or"):
		return "a quote or bracket opens here and is not closed", faulty
	}
	return "", 0
}

var glued = regexp.MustCompile(`^\s*(?:- +)*([A-Za-z][\w./-]*):[^\s/]`)

// colonMissesSpace returns the key of a line such as name:web, or "".
func colonMissesSpace(line []byte) string {
	if m := glued.FindSubmatch(line); m != nil && !bytes.Contains(line, []byte(": ")) {
		return string(m[1])
	}
	return ""
}

// levelsOf returns the columns at which a line may begin that goes on with what is open
// after the others.
func levelsOf(lines [][]byte) []int {
	var open []int
	for _, line := range lines {
		if blank(line) {
			continue
		}
		rest := bytes.TrimLeft(line, " ")
		column := len(line) - len(rest)
		for len(open) > 0 && open[len(open)-1] > column {
			open = open[:len(open)-1]
		}
		if len(open) == 0 || open[len(open)-1] < column {
			open = append(open, column)
		}
		for bytes.HasPrefix(rest, []byte("- ")) { // what follows the dash is a block of its own
			inner := bytes.TrimLeft(rest[1:], " ")
			column += len(rest) - len(inner)
			open, rest = append(open, column), inner
		}
	}
	return open
}

// alternatives joins numbers as a sentence does: 0, 2 or 4.
func alternatives(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return orList(words)
}

func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
