package command

import (
	"strings"
	"testing"
)

func TestLicensesArePrinted(t *testing.T) {
	var out, failed strings.Builder
	if code := runLicenses(nil, Console{Out: &out, Err: &failed}); code != 0 {
		t.Fatalf("got %d %s", code, failed.String())
	}
	for _, want := range []string{"  google.golang.org/grpc v", "  preact ", "Apache License", "GNU LESSER GENERAL PUBLIC LICENSE"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the text lacks %q", want)
		}
	}
	if code := runLicenses([]string{"more"}, Console{Out: &out, Err: &failed}); code != 2 || !strings.Contains(failed.String(), `unexpected argument "more"`) {
		t.Errorf("a word too many: got %d %s", code, failed.String())
	}
}
