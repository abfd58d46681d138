package agent

import (
	"slices"
	"testing"

	"nodal/agent/config"
	"nodal/server"
)

func TestTheAPIWarnsOfOpenDoorsAndIdleSettings(t *testing.T) {
	c, err := config.Load([]string{"--anonymous-auth=true", "--authorization-mode=AlwaysAllow", "--hairpin-mode=none"})
	if err != nil {
		t.Fatal(err)
	}
	got := warned(config.Warnings(c))
	for _, setting := range []string{"access", "hairpinMode"} {
		at := slices.IndexFunc(got, func(w server.Warning) bool { return w.Setting == setting })
		if at < 0 || got[at].Problem == "" || got[at].Remedy == "" {
			t.Errorf("got %+v, want a warning of %s with its consequence and its remedy", got, setting)
		}
	}
	if c, err = config.Load(nil); err != nil || len(warned(config.Warnings(c))) != 0 {
		t.Errorf("the defaults: got %+v, %v, want no warning", config.Warnings(c), err)
	}
}
