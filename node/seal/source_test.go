package seal

import (
	"strings"
	"testing"
)

func TestSourcesAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]Source{
		"beside":                     {Kind: Beside},
		"file:/media/key":            {File, "/media/key"},
		"file:/media//x/../key":      {File, "/media/key"},
		"credential:secrets-key":     {Credential, "secrets-key"},
		"kms:unix:///run/kms/a.sock": {KMS, "/run/kms/a.sock"},
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", text, got, err, want)
		}
		if again, err := Parse(got.String()); err != nil || again != want {
			t.Errorf("%s is written as %s, which is read as %+v, %v", text, got, again, err)
		}
	}
}

func TestAWrongSourceIsRefusedWithTheRightForm(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "is no source",
		"vault:/x":              "is no source",
		"beside:/x":             "takes no path",
		"file:key":              "absolute path",
		"file:":                 "absolute path",
		"credential:":           "name of the credential",
		"credential:../x":       "name of the credential",
		"credential:..":         "name of the credential",
		"kms:/run/kms.sock":     "kms:unix://",
		"kms:unix://kms.sock":   "absolute path",
		"kms:tcp://127.0.0.1:1": "kms:unix://",
	} {
		if got, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v, %v; want an error with %q", text, got, err, want)
		}
	}
}
