package vault

import (
	"bytes"
	"testing"

	"nodal/node/store"
)

// FuzzASealedRecordIsTakenApartWholly holds that no bytes on the disk stop a start, and that a seal covers all of them: what
// is taken apart is the record again when it is put together.
func FuzzASealedRecordIsTakenApartWholly(f *testing.F) {
	for _, file := range []string{"testdata/v1/sealed.hex", "testdata/v2/sealed.hex"} {
		f.Add(fromHex(f, file))
	}
	f.Add([]byte{})
	f.Add([]byte{wrappedKey, 0, 0, 0, 0})
	f.Add([]byte{wrappedKey, 255, 255, 255, 255, '{'})
	f.Fuzz(func(t *testing.T, data []byte) {
		const name = "secrets/s"
		e, err := parse(store.Record{Name: name, Data: data})
		if err != nil {
			return
		}
		if again := append(headed(e.header), e.text...); !bytes.Equal(again, data) {
			t.Errorf("%q is taken apart as %q", data, again)
		}
		if e.header != nil && !bytes.Equal(e.bound, append(headed(e.header), name...)) {
			t.Errorf("the seal of %q covers %q", data, e.bound)
		}
	})
}
