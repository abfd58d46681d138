package openapi

import (
	"bytes"
	"os"
	"testing"
)

func TestWhatIsPackedIsTheDocument(t *testing.T) {
	want, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Document(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes, %v, want the %d of openapi.json (make gen writes both)", len(got), err, len(want))
	}
}
