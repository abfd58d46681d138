package nft

import (
	"slices"
	"testing"
)

func TestPrefixMask(t *testing.T) {
	for _, c := range []struct {
		ones int
		want []byte
	}{{0, []byte{0, 0, 0, 0}}, {13, []byte{255, 248, 0, 0}}, {32, []byte{255, 255, 255, 255}}} {
		if got := prefixMask(c.ones, 4); !slices.Equal(got, c.want) {
			t.Errorf("/%d: got %v, want %v", c.ones, got, c.want)
		}
	}
}

func TestAfterTheLastNumberThereIsNone(t *testing.T) {
	for _, c := range []struct {
		last, want []byte
	}{{[]byte{1, 2}, []byte{1, 3}}, {[]byte{1, 255}, []byte{2, 0}}, {[]byte{255, 255}, nil}, {nil, nil}} {
		if got, ok := after(c.last); !slices.Equal(got, c.want) || ok != (c.want != nil) {
			t.Errorf("after %v: got %v, %t, want %v", c.last, got, ok, c.want)
		}
	}
}
