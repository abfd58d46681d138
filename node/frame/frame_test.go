package frame_test

import (
	"bytes"
	"strings"
	"testing"

	"nodal/node/frame"
)

// records returns the records in the good part of a text, and the bytes behind it.
func records(text []byte) (found []string, rest []byte) {
	for {
		record, behind, ok := frame.Next(text)
		if !ok {
			return found, text
		}
		found, text = append(found, string(record)), behind
	}
}

func TestTheGoodPartEndsBeforeTheCut(t *testing.T) {
	want := []string{"one", "", strings.Repeat("long", 100), "last"}
	var text []byte
	ends := []int{0}
	for _, record := range want {
		text = frame.Append(text, []byte(record))
		ends = append(ends, len(text))
	}
	for cut := range len(text) + 1 {
		whole := 0
		for whole+1 < len(ends) && ends[whole+1] <= cut {
			whole++
		}
		got, rest := records(text[:cut])
		if strings.Join(got, "|") != strings.Join(want[:whole], "|") || len(got) != whole || len(rest) != cut-ends[whole] {
			t.Fatalf("cut at %d: got %d records and %d bytes behind them, want %d and %d", cut, len(got), len(rest), whole, cut-ends[whole])
		}
	}
}

func TestAChangedBitEndsTheGoodPart(t *testing.T) {
	first := frame.Append(nil, []byte("first"))
	text := frame.Append(bytes.Clone(first), []byte("second"))
	for at := len(first); at < len(text); at++ {
		for bit := range 8 {
			damaged := bytes.Clone(text)
			damaged[at] ^= 1 << bit
			if got, _ := records(damaged); len(got) != 1 || got[0] != "first" {
				t.Fatalf("bit %d of byte %d: got %q, want the first record alone", bit, at, got)
			}
		}
	}
}

func TestZerosAreNoFrame(t *testing.T) {
	if got, _ := records(make([]byte, 4096)); len(got) > 0 {
		t.Errorf("got %d records", len(got))
	}
}

func FuzzNext(f *testing.F) {
	f.Add(frame.Append(frame.Append(nil, []byte("a")), nil))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, text []byte) {
		found, rest := records(text)
		var again []byte
		for _, record := range found {
			again = frame.Append(again, []byte(record))
		}
		if got, _ := records(append(again, rest...)); len(got) != len(found) {
			t.Errorf("read %d records, and %d of what was read", len(found), len(got))
		}
	})
}
