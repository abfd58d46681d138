package main

import (
	"io"
	"strings"
	"testing"
	"testing/fstest"
)

func TestSummary(t *testing.T) {
	for _, c := range []struct {
		name    string
		each    bool
		events  string
		want    string
		passed  int
		failed  int
		skipped int
		broken  int
	}{
		{
			name: "a test that passes is counted and says nothing",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"chatter\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Elapsed":1.25}`,
			want: "ok  \tp\t1.2s\n", passed: 1,
		},
		{
			name: "tests that take long say that they passed",
			each: true,
			events: `{"Action":"pass","Package":"p","Test":"TestA/part","Elapsed":61.5}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":61.5}
{"Action":"pass","Package":"p","Elapsed":62}`,
			want: "ok  \tp\tTestA\t61.5s\nok  \tp\t62.0s\n", passed: 2,
		},
		{
			name: "a test that fails shows what it said",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}`,
			want: "got 1, want 2\nFAIL\tp\t0.0s\n", failed: 1, broken: 1,
		},
		{
			name: "a skipped test shows its reason",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"not root\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}`,
			want: "not root\nok  \tp\t0.0s\n", skipped: 1,
		},
		{
			name: "a test that took its package down counts as failed",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"panic: oh\n"}
{"Action":"fail","Package":"p"}`,
			want: "panic: oh\nFAIL\tp\t0.0s\n", failed: 1, broken: 1,
		},
		{
			name: "tests that were cut off have failed",
			events: `{"Action":"start","Package":"p"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"at work\n"}`,
			want: "at work\nthe tests were cut off\nFAIL\tp\t0.0s\n", passed: 1, failed: 1, broken: 1,
		},
		{
			name: "a package that does not compile is broken without a failed test",
			events: `{"Action":"build-output","ImportPath":"p","Output":"undefined: x\n"}
{"Action":"build-fail","ImportPath":"p"}
{"Action":"fail","Package":"p"}`,
			want: "undefined: x\nFAIL\tp\t0.0s\n", broken: 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			got := newSummary(&out)
			got.each = c.each
			if err := got.read(strings.NewReader(c.events)); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.want {
				t.Errorf("got %q, want %q", out.String(), c.want)
			}
			counts := [4]int{got.passed, got.failed, got.skipped, got.broken}
			if want := [4]int{c.passed, c.failed, c.skipped, c.broken}; counts != want {
				t.Errorf("counted %v passed, failed, skipped, broken; want %v", counts, want)
			}
		})
	}
}

func TestOnlyTestsThatPassedShowAnything(t *testing.T) {
	s := newSummary(io.Discard)
	const events = `{"Action":"attr","Package":"p","Test":"TestA","Key":"shows","Value":"Logs: are read"}
{"Action":"attr","Package":"p","Test":"TestB","Key":"shows","Value":"Logs: are kept"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestB"}`
	if err := s.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	got, err := s.unshown(fstest.MapFS{"a_test.go": {Data: []byte(`package p
func TestA(t *testing.T) { claim.Shows(t, "Logs", "are read") }
func TestB(t *testing.T) { claim.Shows(t, "Logs", "are kept") }`)}})
	if err != nil || len(got) != 1 || got[0].Behaviour != "are kept" {
		t.Errorf("not shown are %v (%v), want what the skipped test says", got, err)
	}
}
