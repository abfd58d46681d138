package command

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"nodal/agent/config"
)

func TestEachPlaceOfANodeIsCleanedOrLeftForAReason(t *testing.T) {
	otherwise := map[string]string{
		"pods":             "cleanPods unmounts and removes it",
		"local-volumes":    "keepVolumes leaves the data of claims",
		"registries":       "the machine's owner writes it",
		"seccomp":          "the machine's owner writes it",
		"plugins_registry": "sockets in it belong to plugins; it goes once it is empty",
		"plugins":          "keepStaged leaves what CSI drivers have staged, which only they can take away",
		"device-plugins":   "cleanDevices removes the node's own files; sockets in it belong to plugins",
	}
	dirs := reflect.ValueOf(config.Dirs{Root: "/root-of-node", PodLogs: "/elsewhere/pods", Cert: "/elsewhere/pki"})
	for i := range dirs.NumMethod() {
		method := dirs.Method(i)
		if method.Type().NumIn() != 0 || method.Type().NumOut() != 1 || method.Type().Out(0).Kind() != reflect.String {
			continue
		}
		below, err := filepath.Rel("/root-of-node", method.Call(nil)[0].String())
		if err != nil || strings.HasPrefix(below, "..") {
			continue
		}
		name, _, _ := strings.Cut(below, "/")
		if otherwise[name] == "" && !slices.Contains(ownFiles, name) && !slices.Contains(lastFiles, name) {
			t.Errorf("Dirs.%s is %q below the root: clean leaves it", dirs.Type().Method(i).Name, below)
		}
	}
}
