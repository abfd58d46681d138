package service

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestFlagsAreReadAsSystemdReadsThem(t *testing.T) {
	for _, x := range []struct {
		name, text string
		want       []string
	}{
		{"words", "KUBELET_FLAGS=--root-dir=/data/node  --v 4\n", []string{"--root-dir=/data/node", "--v", "4"}},
		{"quotes around all", "KUBELET_FLAGS=\"--root-dir=/a --v=4\"\n", []string{"--root-dir=/a", "--v=4"}},
		{"quotes around all and within", "KUBELET_FLAGS=\"'--root-dir=/a b' --v=4\"\n", []string{"--root-dir=/a b", "--v=4"}},
		{"quotes around the second word", "KUBELET_FLAGS=--v=4 '--root-dir=/a b'\n", []string{"--v=4", "--root-dir=/a b"}},
		{"quotes within a word", "KUBELET_FLAGS=--root-dir=\"/a b\"\n", []string{"--root-dir=/a b"}},
		{"over two lines", "KUBELET_FLAGS=--root-dir=/a \\\n --v=4\n", []string{"--root-dir=/a", "--v=4"}},
		{"a word over two lines", "KUBELET_FLAGS=--root-dir=/a\\\nb\n", []string{"--root-dir=/ab"}},
		{"blanks around the name", " KUBELET_FLAGS = --v=4\n", []string{"--v=4"}},
		{"the last of two", "KUBELET_FLAGS=--v=1\nOTHER=x\nKUBELET_FLAGS=--v=2", []string{"--v=2"}},
		{"a comment", "# KUBELET_FLAGS=--v=1\n", nil},
		{"none", "KUBELET_FLAGS=\n", nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			m := machine(t)
			m.write(t, Environment, x.text)
			got, err := Flags(m.path(Environment))
			if err != nil || !slices.Equal(got, x.want) {
				t.Errorf("got %q (%v), want %q", got, err, x.want)
			}
		})
	}
	if got, err := Flags(filepath.Join(t.TempDir(), "none")); err != nil || got != nil {
		t.Errorf("without a file: got %q (%v), want no flags", got, err)
	}
}

func TestFlagsThatSystemdReadsInItsOwnWayAreRefused(t *testing.T) {
	for _, x := range []struct{ name, text string }{
		{"quotes around the first word", "KUBELET_FLAGS=\"--root-dir=/a\" --v=2\n"},
		{"quotes around each word", "KUBELET_FLAGS=\"--root-dir=/a b\" '--v=4'\n"},
		{"quotes around two lines", "KUBELET_FLAGS='--root-dir=/a\n--v=4'\n"},
		{"one quote", "KUBELET_FLAGS='\n"},
		{"a backslash", "KUBELET_FLAGS=--root-dir=/a\\ b\n"},
	} {
		t.Run(x.name, func(t *testing.T) {
			m := machine(t)
			m.write(t, Environment, x.text)
			if got, err := Flags(m.path(Environment)); err == nil {
				t.Errorf("got %q, want an error", got)
			}
		})
	}
}
