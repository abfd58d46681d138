package auditfile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestLinesAreReadBackward(t *testing.T) {
	huge := strings.Repeat("h", 3*block)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"one line", "a\n", []string{"a"}},
		{"an empty line between", "a\n\nb\n", []string{"b", "a"}},
		{"a cut one at the end", "a\nb", []string{"b", "a"}},
		{"a line over several blocks", "a\n" + huge + "\nb\n", []string{"b", huge, "a"}},
		{"bytes without a line", strings.Repeat("z", 2*maxLine) + "\na\n", []string{"a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			more, err := backward(strings.NewReader(c.text), int64(len(c.text)), func(line []byte) bool {
				if len(line) < maxLine/2 {
					got = append(got, string(line))
				}
				return true
			})
			if err != nil || !more || !slices.Equal(got, c.want) {
				t.Errorf("got %d lines %.80q, %v", len(got), got, err)
			}
		})
	}
}

func TestReadingStopsWhenItHasEnough(t *testing.T) {
	f := newFile(t, func(c *Config) { c.MaxBytes = 20 })
	f.must(t, "aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd")
	var got []string
	_, err := f.Backward(func(line []byte) bool { got = append(got, string(line)); return len(got) < 3 })
	if err != nil || !slices.Equal(got, []string{"dddddddd", "cccccccc", "bbbbbbbb"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestFollowersGetWhatCameAfterTheirReading(t *testing.T) {
	f := newFile(t, nil)
	f.must(t, "one")
	changed := f.Changed()
	at, err := f.Backward(func([]byte) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
		t.Error("the bell rang without a line")
	default:
	}
	f.must(t, "two", "three")
	<-changed
	lines, next, all := f.After(at)
	if !all || string(bytes.Join(lines, []byte(" "))) != "two three" {
		t.Errorf("got %q, %t", lines, all)
	}
	if lines, _, all := f.After(next); len(lines) != 0 || !all {
		t.Errorf("after the end: got %q, %t", lines, all)
	}
}

func TestASlowFollowerIsToldSo(t *testing.T) {
	f := newFile(t, nil)
	for i := range recentLines + 2 {
		f.must(t, fmt.Sprint(i))
	}
	if _, _, all := f.After(1); all {
		t.Error("line 1 is gone, and nothing says so")
	}
	if lines, _, all := f.After(2); !all || len(lines) != recentLines {
		t.Errorf("got %d lines, %t", len(lines), all)
	}
	f.must(t, strings.Repeat("x", recentBytes+1))
	if lines, next, all := f.After(recentLines + 2); !all || len(lines) != 1 || next != recentLines+3 {
		t.Errorf("a large line: got %d lines, %t", len(lines), all)
	}
}
