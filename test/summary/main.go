// Command summary reads the JSON stream of one or more go test runs and prints
// what a person wants of it: a line a package, the output of what failed, the
// reason of what was skipped, and a count at the end.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	s := summary{out: os.Stdout, output: map[string][]string{}}
	if err := s.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "summary:", err)
		os.Exit(1)
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	if s.failed > 0 || s.broken > 0 {
		os.Exit(1)
	}
}

// event is one line of `go test -json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build
	Test       string
	Elapsed    float64
	Output     string
}

type summary struct {
	out                     io.Writer
	output                  map[string][]string // by package, and by package and test
	passed, failed, skipped int
	broken                  int // packages that failed, for whatever reason
}

func (s *summary) read(r io.Reader) error {
	events := json.NewDecoder(r)
	for {
		var e event
		err := events.Decode(&e)
		if errors.Is(err, io.EOF) {
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
	switch e.Action {
	case "output":
		s.output[key] = append(s.output[key], e.Output)
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.endPackage(e)
		} else {
			s.endTest(e)
		}
		delete(s.output, key)
	}
}

func (s *summary) endTest(e event) {
	text := strings.Join(s.output[e.Package+" "+e.Test], "")
	switch e.Action {
	case "pass":
		s.passed++
	case "fail":
		s.failed++
		fmt.Fprint(s.out, text)
	case "skip":
		s.skipped++
		fmt.Fprint(s.out, text)
	}
}

func (s *summary) endPackage(e event) {
	switch e.Action {
	case "pass":
		fmt.Fprintf(s.out, "ok  \t%s\t%.1fs\n", e.Package, e.Elapsed)
	case "fail":
		s.broken++
		s.unfinished(e.Package)
		fmt.Fprintf(s.out, "%sFAIL\t%s\t%.1fs\n", strings.Join(s.output[e.Package+" "], ""), e.Package, e.Elapsed)
	}
}

// unfinished prints what tests said that never ended: a panic or a timeout
// takes the whole package down with them.
func (s *summary) unfinished(pkg string) {
	for key, lines := range s.output {
		if strings.HasPrefix(key, pkg+" ") && key != pkg+" " {
			fmt.Fprint(s.out, strings.Join(lines, ""))
			delete(s.output, key)
			s.failed++
		}
	}
}
