package agent

import (
	"log/slog"
	goruntime "runtime"

	"nodal/agent/config"
	"nodal/host/self"
)

// adjust gives the agent's own process what its settings ask for. A machine that does not let it is no reason not to
// start: the log says so, and for settings that were given a warning too.
func adjust(cfg *config.Config, oomScore string, log *slog.Logger) (warnings []config.Warning) {
	p := cfg.Process
	if p.Blocks {
		goruntime.SetBlockProfileRate(1)
	}
	for _, one := range []struct {
		setting string
		err     error
	}{
		{"oomScoreAdj", self.OOMScore(oomScore, p.OOMScore)},
		{"maxOpenFiles", self.OpenFiles(p.OpenFiles)},
	} {
		if one.err == nil {
			continue
		}
		log.Info("the machine keeps a setting of the agent's process from its effect", "setting", one.setting, "err", one.err)
		if cfg.Given(one.setting) {
			warnings = append(warnings, config.Warning{
				Setting: one.setting, Problem: one.err.Error(), Remedy: "give the agent CAP_SYS_RESOURCE, or leave the setting out",
			})
		}
	}
	return warnings
}
