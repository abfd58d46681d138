package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// failure is a test that failed, or a package where no test did, and why.
type failure struct {
	pkg, test string
	why       []string
}

// printFailures names what failed and why, for those who read nothing but the end.
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

// hasPart says whether a subtest failed too, which tells more.
func hasPart(failures []failure, of failure) bool {
	return slices.ContainsFunc(failures, func(f failure) bool {
		return f.pkg == of.pkg && of.test != "" && strings.HasPrefix(f.test, of.test+"/")
	})
}

// tells matches the beginning of a line that a test or the compiler prints with its place, or
// that the runtime ends a program with.
var tells = regexp.MustCompile(`^\s*(\S+\.go:\d+:|panic: |fatal error: )`)

// whyOf picks the lines of an output that tell why it is one of a failure. What is
// logged looks like what is wrong, so it takes the first and, of many, the last.
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
