package arch

import (
	"fmt"
	"io/fs"
	"os"
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
	{regexp.MustCompile(`(?i)\b(somebody|everybody|whoever)\b|\bwhom\b`), "name the caller, the user, the pod or the process"},
	{regexp.MustCompile(`\bWho\b|[;:,.] who\b|\bwho (is|has|asks)\b`), "the subject is a thing: the caller, the pod, the process"},
	{regexp.MustCompile(`\banew\b`), `write "again", or the verb itself: restart, rebuild, rewrite`},
	{regexp.MustCompile(`[;:,] nil: `), `say what nil does: "nil disables it"`},
	{regexp.MustCompile(`^\w+ says whether\b`), `a function that returns a bool "reports whether"`},
}

// riddle matches a doc comment that begins with a question word in place of a verb.
var riddle = regexp.MustCompile(`^(\w+) (is|are) (what|who|how|where|why)\b`)

// remark is one comment, and its place.
type remark struct{ at, text string }

// remarks returns the comments of Go files.
func remarks(files []goFile) (all []remark) {
	for _, f := range files {
		for _, group := range f.syntax.Comments {
			all = append(all, remark{f.at(group), strings.Join(strings.Fields(group.Text()), " ")})
		}
	}
	return all
}

// commentLine matches a line of a comment in a script, or in a source of the dashboard.
var commentLine = regexp.MustCompile(`^\s*(?:#|//|/\*\*?|\*) (.*)`)

// otherRemarks returns the comments of scripts and of the dashboard, line by line.
func otherRemarks(t *testing.T, tree fs.FS) (all []remark) {
	t.Helper()
	err := eachFile(tree, []string{".css", ".mjs", ".sh", ".ts", ".tsx"}, func(name string, source []byte) error {
		for i, line := range strings.Split(string(source), "\n") {
			if m := commentLine.FindStringSubmatch(line); m != nil {
				all = append(all, remark{fmt.Sprintf("%s:%d", name, i+1), m[1]})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("read the tree: %v", err)
	}
	return all
}

// englishErrors finds these patterns in comments.
func englishErrors(all []remark) []string {
	var errs []string
	for _, r := range all {
		if m := riddle.FindStringSubmatch(r.text); m != nil {
			errs = append(errs, fmt.Sprintf("%s: %q: begin with the verb of what %s does, or with what it holds", r.at, m[0], m[1]))
		}
		for _, s := range shapes {
			if found := s.of.FindString(r.text); found != "" {
				errs = append(errs, fmt.Sprintf("%s: %q: %s", r.at, strings.TrimSpace(found), s.remedy))
			}
		}
	}
	return errs
}

func TestCommentsAreReadOnce(t *testing.T) {
	for _, err := range englishErrors(append(remarks(ours(t)), otherRemarks(t, os.DirFS("../.."))...)) {
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
		{"a subject without a name", "// size is for everybody.", true},
		{"a question as the subject", "// size grows. Who asks is told.", true},
		{"a question after a comma", "// size tells, who is there.", true},
		{"a word that has gone out of use", "// size counts anew.", true},
		{"a bool that says", "// size says whether a pod is large.", true},
		{"a text that says", "// size returns a text that says whether a pod is large.", false},
		{"a nil that is nobody", "// size of a pod; nil: it has none", true},
		{"a nil that does something", "// size of a pod; nil disables it", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := englishErrors(remarks(parse(t, tree("a/a.go", "package a\n\n"+c.comment+"\nfunc size() {}\n"))))
			if caught := len(got) > 0; caught != c.caught {
				t.Errorf("caught is %t, want %t: %q", caught, c.caught, got)
			}
		})
	}
}

func TestEnglishRulesCatchOtherLanguages(t *testing.T) {
	for name, source := range map[string]string{
		"a/a.sh":  "# Cleans up: nobody else does.\n",
		"a/a.ts":  "/** size is what a pod has. */\n",
		"a/a.tsx": "/**\n * size is for everybody.\n */\n",
	} {
		if got := englishErrors(otherRemarks(t, tree(name, source))); len(got) != 1 {
			t.Errorf("%s: got %q, want one error", name, got)
		}
	}
}
