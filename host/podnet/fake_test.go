package podnet

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain is also the way into the plugin that tests start: a link to the test's binary, told apart by its name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "portmap" {
		os.Exit(m.Run())
	}
	if err := fakePortmap(os.Args[0]); err != nil {
		os.Exit(1)
	}
}

// fakePortmap has a file for each container whose ports are open.
func fakePortmap(plugin string) error {
	if _, err := os.Stat(plugin + ".broken"); err == nil {
		return errors.New("the fake is broken")
	}
	open := plugin + "." + os.Getenv("CNI_CONTAINERID")
	switch os.Getenv("CNI_COMMAND") {
	case "ADD":
		return os.WriteFile(open, nil, 0o600)
	case "CHECK":
		_, err := os.Stat(open)
		return err
	}
	return os.RemoveAll(open)
}

// newFake is a network whose portmap plugin is a fake, and the path of that.
func newFake(t *testing.T) (n *Network, plugin string) {
	t.Helper()
	p := testPlaces(t)
	n = New(Config{Places: p, Reopens: true})
	n.cache = filepath.Join(t.TempDir(), "cni")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plugin = filepath.Join(strings.Replace(p.Plugins[0], "*", "some", 1), "portmap")
	if err := errors.Join(
		os.MkdirAll(filepath.Dir(plugin), 0o700), os.Symlink(self, plugin),
		os.MkdirAll(filepath.Join(n.cache, "results"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	return n, plugin
}
