package vault

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"nodal/node/store"
)

// TestAGoldenSecretIsOpened holds what the first agents have sealed: another key, cipher or
// layout would lose every Secret of a node.
func TestAGoldenSecretIsOpened(t *testing.T) {
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(keyFile, fromHex(t, "testdata/v1/key.hex"), 0o600); err != nil {
		t.Fatal(err)
	}
	sealed := store.Record{Name: "secrets/s", Data: fromHex(t, "testdata/v1/sealed.hex")}
	opened, problems := open(t, &memory{}, keyFile).Open([]store.Record{sealed})
	if len(problems) > 0 || len(opened) != 1 || string(opened[0].Data) != "hidden" {
		t.Errorf("got %q, problems %v; want what was sealed", opened, problems)
	}
}

func fromHex(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
