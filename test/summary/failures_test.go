package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestTheEndNamesWhatFailedAndWhy(t *testing.T) {
	for _, c := range []struct{ name, events, want string }{
		{
			name: "where nothing failed there is nothing to name",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: chatter\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}`,
		},
		{
			name: "a test is named with its error",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: got 1,\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"        want 2\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}`,
			want: "failed: p TestA\n        a_test.go:7: got 1,\n",
		},
		{
			name: "a subtest says more than its parent",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: the log of all of it\n"}
{"Action":"output","Package":"p","Test":"TestA/b","Output":"    a_test.go:9: got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"TestA/b"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}`,
			want: "failed: p TestA/b\n        a_test.go:9: got 1, want 2\n",
		},
		{
			name: "a test that took its package down is named with its panic",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"panic: oh\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"\t/src/a.go:7 +0x1d\n"}
{"Action":"fail","Package":"p"}`,
			want: "failed: p TestA\n        panic: oh\n",
		},
		{
			name: "a package that does not compile is named with the compiler's words",
			events: `{"Action":"build-output","ImportPath":"p [p.test]","Output":"# p [p.test]\n"}
{"Action":"build-output","ImportPath":"p [p.test]","Output":"p/a.go:3:9: undefined: x\n"}
{"Action":"build-fail","ImportPath":"p [p.test]"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}`,
			want: "failed: p\n        p/a.go:3:9: undefined: x\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, end strings.Builder
			s := newSummary(&out)
			if err := s.read(strings.NewReader(c.events)); err != nil {
				t.Fatal(err)
			}
			if printFailures(&end, s.failures); end.String() != c.want {
				t.Errorf("got %q, want %q", end.String(), c.want)
			}
		})
	}
}

func TestTheEndStaysShort(t *testing.T) {
	var talk strings.Builder
	for i := range 9 {
		fmt.Fprintf(&talk, "    a_test.go:%d: %s\n", i, strings.Repeat("é", 1000))
	}
	var many []failure
	for i := range 30 {
		many = append(many, failure{"p", fmt.Sprintf("Test%d", i), whyOf(talk.String())})
	}
	var end strings.Builder
	printFailures(&end, many)
	lines := strings.Split(strings.TrimSpace(end.String()), "\n")
	if want := 10*5 + 1; len(lines) != want || lines[len(lines)-1] != "failed: 20 more" {
		t.Errorf("got %d lines, the last of them %q; want %d", len(lines), lines[len(lines)-1], want)
	}
	for i, place := range []string{":0:", ":1:", ":7:", ":8:"} {
		if line := lines[1+i]; !strings.Contains(line, place) || len(line) > 750 {
			t.Errorf("got %d bytes that begin with %.30q, want those of a_test.go%s, cut", len(line), line, place)
		}
	}
}
