package journal

import (
	"bytes"
	"testing"
)

func TestRecordComesBackAsItWasWritten(t *testing.T) {
	for _, name := range []string{"pods/default_web", "a", "strange\nname \"quoted\" \xff"} {
		for _, data := range [][]byte{{}, []byte("x"), []byte("line\nline\n"), bytes.Repeat([]byte{0}, 100_000)} {
			gotName, got, err := decode(encode(name, data))
			if err != nil || gotName != name || !bytes.Equal(got, data) {
				t.Errorf("decode(encode(%q, %d bytes)): got %q, %d bytes, %v", name, len(data), gotName, len(got), err)
			}
			if got == nil {
				t.Errorf("decode(encode(%q, %d bytes)): got nil data, which means deleted", name, len(data))
			}
		}
	}
}

func TestEveryFlippedBitOfARecordIsNoticed(t *testing.T) {
	sound := encode("pods/default_web", []byte("some data\nof a pod"))
	for i := range sound {
		for bit := range 8 {
			damaged := bytes.Clone(sound)
			damaged[i] ^= 1 << bit
			if name, data, err := decode(damaged); err == nil {
				t.Errorf("byte %d bit %d flipped: got record %q with %q, want an error", i, bit, name, data)
			}
		}
	}
}

func TestEveryRecordCutShortOrGrownIsNoticed(t *testing.T) {
	sound := encode("pods/default_web", []byte("some data"))
	for n := range sound {
		if _, _, err := decode(sound[:n]); err == nil {
			t.Errorf("cut to %d of %d bytes: want an error", n, len(sound))
		}
	}
	if _, _, err := decode(append(bytes.Clone(sound), '\n')); err == nil {
		t.Error("one byte more: want an error")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("nodal-record 1 00000000 0 \"\"\n"))
	f.Add([]byte("nodal-record 2 5a1f03c7 1 \"a\"\nx"))
	f.Add(encode("pods/default_web", []byte("data")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		name, data, err := decode(raw)
		if err != nil {
			return
		}
		again, got, err := decode(encode(name, data))
		if err != nil || again != name || !bytes.Equal(got, data) {
			t.Errorf("decoded %q, %q; after encoding: %q, %q, %v", name, data, again, got, err)
		}
		// Whatever is wrapped comes out, also when it looks like a record itself.
		if _, got, err := decode(encode("wrapped", raw)); err != nil || !bytes.Equal(got, raw) {
			t.Errorf("wrapped: got %q, %v, want %q", got, err, raw)
		}
	})
}
