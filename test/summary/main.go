// Command summary reads the JSON stream of go test runs and prints a summary: a line a package, the
// output of failed tests, and the reasons of skipped ones. At the end it prints the failures in
// short, and a count.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"nodal/test/claim"
)

func main() {
	part := flag.Bool("part", false, "only part of the tests ran: do not check that every claim was shown")
	left := flag.String("left", "", "the names of tests that were left out, joined by commas: their claims are not expected")
	each := flag.Bool("each", false, "print a line for each test that passes, for slow runs")
	flag.Parse()
	s := newSummary(os.Stdout)
	s.each = *each
	if err := s.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "summary:", err)
		os.Exit(1)
	}
	unshown, err := s.unshown(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "summary:", err)
		os.Exit(1)
	}
	if *part {
		unshown = nil
	}
	out := strings.Split(*left, ",")
	unshown = slices.DeleteFunc(unshown, func(r claim.Row) bool { return slices.Contains(out, r.Test) })
	for _, r := range unshown {
		fmt.Printf("no test that passed showed %q; %s in %s says so\n", r, r.Test, r.File)
	}
	printFailures(os.Stdout, s.failures)
	fmt.Printf("%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	if s.failed > 0 || s.broken > 0 || len(unshown) > 0 {
		os.Exit(1)
	}
}

// event is one line of `go test -json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // set for builds
	FailedBuild string // the ImportPath of the build that failed a package
	Test        string
	Elapsed     float64
	Output      string
	Key, Value  string // set for attributes
}

type summary struct {
	out                     io.Writer
	each                    bool
	output                  map[string][]string // lines by package, and by package and test
	built                   map[string][]string // the compiler's output by import path
	claims                  map[string][]string // claims of running tests, by package and test
	shown                   map[string]bool     // claims of passed tests
	passed, failed, skipped int
	open                    map[string]bool // packages that have not ended
	broken                  int             // packages that failed for any reason
	failures                []failure
}

func newSummary(out io.Writer) *summary {
	return &summary{out: out, output: map[string][]string{}, built: map[string][]string{}, claims: map[string][]string{}, shown: map[string]bool{}, open: map[string]bool{}}
}

func (s *summary) read(r io.Reader) error {
	events := json.NewDecoder(r)
	for {
		var e event
		err := events.Decode(&e)
		if errors.Is(err, io.EOF) {
			s.endCutOff()
			return nil
		}
		if err != nil {
			return fmt.Errorf("read go test's events: %w", err)
		}
		s.take(e)
	}
}

func (s *summary) take(e event) {
	key := e.Package + " " + e.Test
	if e.Package != "" {
		s.open[e.Package] = true
	}
	switch e.Action {
	case "output":
		s.output[key] = append(s.output[key], e.Output)
	case "attr":
		if e.Key == claim.Key {
			s.claims[key] = append(s.claims[key], e.Value)
		}
	case "build-output":
		s.built[e.ImportPath] = append(s.built[e.ImportPath], e.Output)
		fmt.Fprint(s.out, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.endPackage(e)
		} else {
			s.endTest(e)
		}
		delete(s.output, key)
		delete(s.claims, key)
	}
}

func (s *summary) endTest(e event) {
	text := strings.Join(s.output[e.Package+" "+e.Test], "")
	switch e.Action {
	case "pass":
		s.passed++
		if s.each && !strings.Contains(e.Test, "/") {
			fmt.Fprintf(s.out, "ok  \t%s\t%s\t%.1fs\n", e.Package, e.Test, e.Elapsed)
		}
		for _, c := range s.claims[e.Package+" "+e.Test] {
			s.shown[c] = true
		}
	case "fail":
		s.failed++
		s.failures = append(s.failures, failure{e.Package, e.Test, whyOf(text)})
		fmt.Fprint(s.out, text)
	case "skip":
		s.skipped++
		fmt.Fprint(s.out, text)
	}
}

// endCutOff fails the packages whose tests ended without a result.
func (s *summary) endCutOff() {
	for _, pkg := range slices.Sorted(maps.Keys(s.open)) {
		s.take(event{Action: "output", Package: pkg, Output: "the tests were cut off\n"})
		s.take(event{Action: "fail", Package: pkg})
	}
}

func (s *summary) endPackage(e event) {
	delete(s.open, e.Package)
	switch e.Action {
	case "pass":
		fmt.Fprintf(s.out, "ok  \t%s\t%.1fs\n", e.Package, e.Elapsed)
	case "fail":
		s.broken++
		s.unfinished(e.Package)
		text := strings.Join(s.output[e.Package+" "], "")
		if !slices.ContainsFunc(s.failures, func(f failure) bool { return f.pkg == e.Package }) {
			s.failures = append(s.failures, failure{e.Package, "", whyOf(strings.Join(s.built[e.FailedBuild], "") + text)})
		}
		fmt.Fprintf(s.out, "%sFAIL\t%s\t%.1fs\n", text, e.Package, e.Elapsed)
	}
}

// unfinished prints the output of tests that never ended: a panic or a timeout ends the whole
// package.
func (s *summary) unfinished(pkg string) {
	for _, key := range slices.Sorted(maps.Keys(s.output)) {
		if test, ok := strings.CutPrefix(key, pkg+" "); ok && test != "" {
			text := strings.Join(s.output[key], "")
			s.failures = append(s.failures, failure{pkg, test, whyOf(text)})
			fmt.Fprint(s.out, text)
			delete(s.output, key)
			s.failed++
		}
	}
}

// unshown returns the claims of a tree's tests that no passed test has shown.
func (s *summary) unshown(tree fs.FS) ([]claim.Row, error) {
	rows, err := claim.Read(tree)
	if err != nil {
		return nil, fmt.Errorf("read what the tests show: %w", err)
	}
	return slices.DeleteFunc(rows, func(r claim.Row) bool { return s.shown[r.String()] }), nil
}
