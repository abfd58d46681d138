package agent

import (
	"strings"

	"nodal/agent/config"
	"nodal/server"
)

// tellSettings returns what the API says of the settings: what the node was told, and what it does instead where a setting has no
// effect, or where its machine keeps it from having one.
func tellSettings(cfg *config.Config, machine []config.Warning) (s server.Settings, err error) {
	all, err := cfg.Told()
	if err != nil {
		return s, err
	}
	for _, t := range all {
		for _, w := range machine {
			if w.Setting == t.Name {
				t.Instead = strings.TrimPrefix(t.Instead+"; "+w.Problem, "; ")
			}
		}
		s.All = append(s.All, server.Setting{
			Name: t.Name, Flag: t.Flag, Source: t.Source, Value: t.Value, Instead: t.Instead, TakenBy: string(t.TakenBy),
		})
	}
	for _, g := range cfg.Gates() {
		s.Gates = append(s.Gates, server.FeatureGate(g))
	}
	return s, nil
}
