package config

import "testing"

func TestOpenDoorsAreNamed(t *testing.T) {
	anonymous, always := "--anonymous-auth=true", "--authorization-mode=AlwaysAllow"
	for _, c := range []struct {
		name string
		args []string
		want int
	}{
		{"the defaults", nil, 0},
		{"anonymous callers without a role", []string{anonymous}, 0},
		{"AlwaysAllow for known callers", []string{always}, 1},
		{"AlwaysAllow for anybody", []string{anonymous, always}, 1},
	} {
		if got := Unsafe(load(t, c.args...)); len(got) != c.want {
			t.Errorf("%s: %q, want %d sentences", c.name, got, c.want)
		}
	}
}
