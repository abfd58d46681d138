package node

import (
	"os"
	"regexp"
	"testing"
)

func TestTheVersionOfKubernetesIsThatOfItsAPIsModule(t *testing.T) {
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\tk8s\.io/api v0\.(\d+)\.\d+$`).FindSubmatch(text)
	if found == nil {
		t.Fatal("go.mod does not name the version of k8s.io/api")
	}
	if want := "v1." + string(found[1]) + ".0"; KubernetesVersion != want {
		t.Errorf("got %s, want %s", KubernetesVersion, want)
	}
}
