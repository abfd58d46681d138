package arch

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// shape is a pattern that makes a comment hard to read.
type shape struct {
	of     *regexp.Regexp
	remedy string
}

var shapes = []shape{
	{regexp.MustCompile(`(?i)\bnobody\b`), "name the thing that does not do it, or say what happens instead"},
	{regexp.MustCompile(`\bwhom\b`), "name the caller, the pod or the process"},
	{regexp.MustCompile(`\bWho\b|[;:,.] who\b|\bwho (is|has|asks)\b`), "the subject is a thing: the caller, the pod, the process"},
	{regexp.MustCompile(`[;:,] nil: `), `say what nil does: "nil disables it"`},
}

// riddle matches a doc comment that begins with a question word in place of a verb.
var riddle = regexp.MustCompile(`^(\w+) (is|are) (what|who|how|where|why)\b`)

// englishErrors finds these patterns in comments.
func englishErrors(files []goFile) []string {
	var errs []string
	for _, f := range files {
		for _, group := range f.syntax.Comments {
			text := strings.Join(strings.Fields(group.Text()), " ")
			if m := riddle.FindStringSubmatch(text); m != nil {
				errs = append(errs, fmt.Sprintf("%s: %q: begin with the verb of what %s does, or with what it holds", f.at(group), m[0], m[1]))
			}
			for _, s := range shapes {
				if found := s.of.FindString(text); found != "" {
					errs = append(errs, fmt.Sprintf("%s: %q: %s", f.at(group), strings.TrimSpace(found), s.remedy))
				}
			}
		}
	}
	return errs
}

func TestCommentsAreReadOnce(t *testing.T) {
	for _, err := range englishErrors(ours(t)) {
		t.Error(err)
	}
}

func TestEnglishRulesCatch(t *testing.T) {
	for _, c := range []struct {
		name, comment string
		caught        bool
	}{
		{"a verb first", "// size returns the bytes of a pod.", false},
		{"a caller who waits", "// wait blocks the caller who takes the lock last.", false},
		{"a riddle", "// size is what a pod has.", true},
		{"no subject", "// size is kept: nobody reads it.", true},
		{"a question as the subject", "// size grows. Who asks is told.", true},
		{"a question after a comma", "// size tells, who is there.", true},
		{"a nil that is nobody", "// size of a pod; nil: it has none", true},
		{"a nil that does something", "// size of a pod; nil disables it", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := englishErrors(parse(t, tree("a/a.go", "package a\n\n"+c.comment+"\nfunc size() {}\n")))
			if caught := len(got) > 0; caught != c.caught {
				t.Errorf("caught is %t, want %t: %q", caught, c.caught, got)
			}
		})
	}
}
