package manifest

import (
	"testing"
)

func TestEveryKindOfTheNodeHasACheck(t *testing.T) {
	for _, r := range readers() {
		if r.check == nil {
			t.Errorf("manifests of %s are not checked: add it to readers", r.Name)
		}
	}
}
