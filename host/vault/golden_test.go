package vault

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"nodal/node/store"
	"nodal/test/kms"
)

var update = flag.Bool("update", false, "write a golden record that is missing")

// TestAGoldenSecretIsOpened holds what agents have sealed: another key, cipher or layout would lose every Secret of a node.
// Form 1 is that of the first agents.
func TestAGoldenSecretIsOpened(t *testing.T) {
	w := newWorld(t)
	w.put("secrets.key", fromHex(t, "testdata/v1/key.hex"))
	w.disk.current["secrets/s"] = fromHex(t, "testdata/v1/sealed.hex")
	w.start(w.beside())
	w.want(map[string]string{"secrets/s": "hidden"})
}

// TestAGoldenSecretOfAPluginIsOpened holds form 2, with the data key in the record.
func TestAGoldenSecretOfAPluginIsOpened(t *testing.T) {
	w := newWorld(t)
	w.plugin.Stop()
	w.plugin = kms.New(w.path("golden.sock"), "the seed of the golden record", "golden")
	if err := w.plugin.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.plugin.Stop)
	const golden = "testdata/v2/sealed.hex"
	if _, err := os.Stat(golden); *update && os.IsNotExist(err) {
		w.commit(w.start(w.kms()), map[string]string{"secrets/s": "hidden"})
		text := hex.EncodeToString(w.disk.current["secrets/s"]) + "\n"
		if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		delete(w.disk.current, ledgerName)
	}
	w.disk.current["secrets/s"] = fromHex(t, golden)
	w.disk.current[ledgerName] = []byte(`{"version":1,"sources":["kms:unix:///elsewhere"]}`)
	w.start(w.kms())
	delete(w.known, ledgerName)
	w.want(map[string]string{"secrets/s": "hidden"})
}

// TestARecordOfTheFirstFormIsWrittenAsEver lets the first agents open what this one seals beside the journal.
func TestARecordOfTheFirstFormIsWrittenAsEver(t *testing.T) {
	raw := fromHex(t, "testdata/v1/key.hex")
	sealed := keyOf(t, raw).seal(store.Record{Name: "secrets/s", Data: []byte("hidden")})
	aead, err := newCipher(raw)
	if err != nil {
		t.Fatal(err)
	}
	got, err := aead.Open(nil, nil, sealed.Data[1:], []byte("secrets/s"))
	if sealed.Data[0] != 1 || err != nil || string(got) != "hidden" {
		t.Errorf("form %d opens as %q, %v", sealed.Data[0], got, err)
	}
}

func fromHex(t testing.TB, file string) []byte {
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
