package client

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestKeysThatDetach(t *testing.T) {
	for _, c := range []struct {
		name, keys, typed, passed string
		detached                  bool
	}{
		{"the usual ones", "ctrl-p,ctrl-q", "ls\n\x10\x11more", "ls\n", true},
		{"one of them alone", "ctrl-p,ctrl-q", "a\x10b\x11c", "a\x10b\x11c", false},
		{"the first one twice", "ctrl-p,ctrl-q", "\x10\x10\x11", "\x10", true},
		{"the input ends between them", "ctrl-p,ctrl-q", "a\x10", "a\x10", false},
		{"others", "~,.", "a~b~.", "a~b", true},
		{"a control key by its sign", "ctrl-]", "a\x1d", "a", true},
	} {
		keys, err := keysOf(c.keys)
		if err != nil {
			t.Fatal(err)
		}
		for how, in := range map[string]io.Reader{"at once": strings.NewReader(c.typed), "key by key": iotest.OneByteReader(strings.NewReader(c.typed))} {
			left := false
			got, err := io.ReadAll(&detacher{in: in, keys: keys, leave: func() { left = true }})
			if string(got) != c.passed || left != c.detached || errors.Is(err, errDetached) != c.detached {
				t.Errorf("%s, %s: got %q, %v, left %t, want %q, %t", c.name, how, got, err, left, c.passed, c.detached)
			}
		}
	}
	for _, wrong := range []string{"ctrl-", "ctrl-1", "pp", "ctrl-p,", "alt-x"} {
		if keys, err := keysOf(wrong); err == nil {
			t.Errorf("%q: got %q, want an error", wrong, keys)
		}
	}
	if keys, err := keysOf(""); err != nil || keys != nil {
		t.Errorf("none: got %q, %v", keys, err)
	}
}
