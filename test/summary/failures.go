package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// failure is a test that failed, or a package that failed without a failed test, and the reason.
type failure struct {
	pkg, test string
	why       []string
}

// printFailures prints the failed tests with their reasons, for readers of the end only.
func printFailures(out io.Writer, failures []failure) {
	const most = 10
	failures = slices.DeleteFunc(slices.Clone(failures), func(f failure) bool { return hasPart(failures, f) })
	for _, f := range failures[:min(most, len(failures))] {
		fmt.Fprintf(out, "failed: %s\n", strings.TrimSpace(f.pkg+" "+f.test))
		for _, line := range f.why {
			fmt.Fprintf(out, "        %s\n", line)
		}
	}
	if more := len(failures) - most; more > 0 {
		fmt.Fprintf(out, "failed: %d more\n", more)
	}
}

// hasPart reports whether a subtest failed too, which says more.
func hasPart(failures []failure, of failure) bool {
	return slices.ContainsFunc(failures, func(f failure) bool {
		return f.pkg == of.pkg && of.test != "" && strings.HasPrefix(f.test, of.test+"/")
	})
}

// tells matches the beginning of a line with the place of an error, from a test or the compiler, or
// the line with which the runtime ends a program.
var tells = regexp.MustCompile(`^\s*(\S+\.go:\d+:|panic: |fatal error: )`)

// whyOf returns the lines of an output that explain a failure. Logged lines look like errors, so of
// many lines it returns the first and the last ones.
func whyOf(output string) []string {
	const first, last, length = 2, 2, 700
	var why []string
	for line := range strings.Lines(output) {
		if tells.MatchString(line) {
			why = append(why, cut(strings.TrimSpace(line), length))
		}
	}
	if many := len(why) - last; many > first {
		why = slices.Delete(why, first, many)
	}
	return why
}

func cut(line string, length int) string {
	if len(line) <= length {
		return line
	}
	return strings.ToValidUTF8(line[:length], "") + "…"
}
